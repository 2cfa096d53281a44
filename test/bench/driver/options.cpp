// The driver's command line: see options.hpp.
#include "options.hpp"

#include <cstdio>
#include <cstdlib>

static void
Set(Options *options, const std::string &name, const char *value)
{
	if (name == "--clients")
		options->clients = std::atoi(value);
	else if (name == "--batch")
		options->batch = std::atoi(value);
	else if (name == "--jobs")
		options->jobs = std::atoll(value);
	else if (name == "--seconds")
		options->seconds = std::atof(value);
	else if (name == "--first")
		options->first = std::atoll(value);
	else if (name == "--last")
		options->last = std::atoll(value);
	else if (name == "--id")
		options->id = value;
	else if (name == "--attempt")
		options->attempt = value;
	else if (name == "--checked")
		options->checked = std::atoi(value) != 0;
	else {
		std::fprintf(stderr, "unknown option: %s\n", name.c_str());
		std::exit(2);
	}
}

Options
ReadOptions(int argc, char **argv)
{
	Options options;

	if (argc < 2 || argc % 2 != 0) {
		std::fprintf(stderr, "usage: work PROTOCOL [--OPTION VALUE]...\n");
		std::exit(2);
	}
	options.protocol = argv[1];
	for (int i = 2; i < argc; i += 2)
		Set(&options, argv[i], argv[i + 1]);
	return options;
}
