// How jobs are claimed and completed, as SQL from the files of a directory: claim.sql and
// complete.sql, or next.sql, which does both in one call. claim_one.sql and complete_one.sql take
// their places when jobs are worked one by one.
//
// In the SQL {name} stands for a parameter: {batch}, {client}, {low}, {high} in a claim; {ids},
// {attempts}, {id}, {attempt}, {client} in a completion; {ids}, {attempts}, {batch}, {client} in
// next.sql.
#pragma once

#include <string>
#include <vector>

struct Statement {
	std::string sql; // with $1, $2, ...
	std::vector<std::string> parameters;

	bool
	Present() const
	{
		return !sql.empty();
	}
};

struct Protocol {
	Statement claim;
	Statement complete;
	Statement next;
};

Protocol ReadProtocol(const std::string &directory, bool one_by_one);
