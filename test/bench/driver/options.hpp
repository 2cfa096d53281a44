// What the driver is asked to do.
#pragma once

#include <cstdint>
#include <string>

struct Options {
	std::string protocol; // a directory: see protocol.hpp
	int clients = 4;
	int batch = 50;
	int64_t jobs = INT64_MAX;        // stop when so many are completed
	double seconds = 10;             // and at the latest after this
	int64_t first = 0;               // ids from here on are shared out, for a protocol that has {low} and {high}
	int64_t last = -1;               // ... up to this one
	std::string id = "job_id";       // the column of a claim that has the id
	std::string attempt = "attempt"; // and the one that has the attempt
	bool checked = true;             // whether a completion says how many jobs it has completed
};

// Ends the program with a message when there is something it doesn't know.
Options ReadOptions(int argc, char **argv);
