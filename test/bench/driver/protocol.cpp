// Reads a protocol's files: see protocol.hpp.
#include "protocol.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

static std::string
ReadFile(const std::string &name)
{
	std::ifstream file(name);
	return {std::istreambuf_iterator<char>(file), {}};
}

static Statement
Parse(const std::string &text)
{
	static const std::regex name("\\{([a-z]+)\\}");
	Statement statement;
	auto end = std::sregex_iterator();
	auto copied = text.begin();

	for (auto match = std::sregex_iterator(text.begin(), text.end(), name); match != end; ++match) {
		statement.parameters.push_back((*match)[1]);
		statement.sql.append(copied, (*match)[0].first);
		statement.sql += "$" + std::to_string(statement.parameters.size());
		copied = (*match)[0].second;
	}
	statement.sql.append(copied, text.end());
	return statement;
}

// The file for jobs that are worked one by one, where there is one and they are.
static Statement
ParseFile(const std::string &name, bool one_by_one)
{
	std::string text = one_by_one ? ReadFile(name + "_one.sql") : "";
	return Parse(text.empty() ? ReadFile(name + ".sql") : text);
}

Protocol
ReadProtocol(const std::string &directory, bool one_by_one)
{
	Protocol protocol;

	protocol.claim = ParseFile(directory + "/claim", one_by_one);
	protocol.complete = ParseFile(directory + "/complete", one_by_one);
	protocol.next = ParseFile(directory + "/next", one_by_one);
	if (!protocol.next.Present() && !(protocol.claim.Present() && protocol.complete.Present()))
		throw std::runtime_error("no protocol in " + directory);
	return protocol;
}
