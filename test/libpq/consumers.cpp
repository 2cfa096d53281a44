// Consumers against a model that counts: producers insert events, consumers do all that workers do and all that befalls
// them, and in the end a model that knows only the contract looks for what can't be.
//
//     consumers DIRECTORY [SEED [SECONDS]]
//
// Works in the database that schema.sql has prepared, in processes of its own, and writes their journals into the
// directory. Prints TAP. The seed decides what the processes choose, not how they interleave.
#include "run.hpp"

#include <cstdlib>
#include <map>
#include <random>

using namespace model;

static int tests = 0;

static bool
Ok(bool ok, const std::string &what, const Faults &faults = {})
{
	std::printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what.c_str());
	for (size_t i = 0; i < faults.size() && i < 10; i++)
		std::printf("# %s\n", faults[i].c_str());
	if (faults.size() > 10)
		std::printf("# ... and %zu more\n", faults.size() - 10);
	return ok;
}

// A run in which something never happened proves nothing about it.
static Faults
WhatNeverHappened(const History &history)
{
	static const char *const kCalls[] = {
		"claim done",       "claim rolled back", "claim unknown",        "complete done",    "complete again",
		"complete refused", "complete omitted",  "complete rolled back", "complete unknown", "fail done",
		"fail dead",        "fail refused",      "release done",         "release refused",  "extend done",
		"extend refused",   "cancel done",       "retry done",
	};
	std::map<std::string, int> count;
	for (const Operation &o : history.operations)
		count[Name(o)]++;
	Faults never;
	for (const char *call : kCalls) {
		std::printf("# %6d %s\n", count[call], call);
		if (count[call] == 0)
			never.push_back(call);
	}
	return never;
}

// Counts the faults that each rule finds, by its name.
static std::map<std::string, size_t>
CheckRules(const History &history, bool *all)
{
	std::map<std::string, size_t> found;
	for (const Rule &rule : Rules()) {
		Faults faults = Check(rule, history);
		found[rule.name] = faults.size();
		*all &= Ok(faults.empty(), rule.claim, faults);
	}
	return found;
}

// Each way to spoil this very history must be noticed, by the rule that is there for it.
static void
CheckModel(const History &history, const std::map<std::string, size_t> &found, bool *all)
{
	for (const Spoiler &spoiler : Spoilers()) {
		History spoilt = history;
		bool noticed = spoiler.spoil(spoilt);
		for (const Rule &rule : Rules())
			if (noticed && std::string(rule.name) == spoiler.rule)
				noticed = Check(rule, spoilt).size() > found.at(rule.name);
		*all &= Ok(noticed, std::string("the model notices when ") + spoiler.what);
	}
}

int
main(int argc, char **argv)
{
	if (argc < 2 || argc > 4) {
		std::fprintf(stderr, "usage: consumers DIRECTORY [SEED [SECONDS]]\n");
		return 2;
	}
	uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()() % 1000000;
	int seconds = argc > 3 ? std::atoi(argv[3]) : 12;
	// A line is out before a process is started, so that none prints it again.
	std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
	std::printf("# seed %llu\n", static_cast<unsigned long long>(seed));
	// A call that hangs is an error that the model will report.
	setenv("PGOPTIONS", "-c statement_timeout=60s -c client_min_messages=error", 1);
	try {
		Run run(argv[1], seed, seconds);
		bool all = Ok(run.Go(), "all jobs came to their end in time");
		History history = run.Collect();
		std::printf("# %zu jobs, %zu transactions, %zu calls\n", history.jobs.size(), history.transactions.size(),
					history.operations.size());
		Faults never = WhatNeverHappened(history);
		all &= Ok(never.empty(), "all kinds of calls and answers occurred", never);
		std::map<std::string, size_t> found = CheckRules(history, &all);
		Faults errors = run.Ask("SELECT e::text FROM pgq_event_errors e");
		all &= Ok(errors.empty(), "there are no event errors", errors);
		CheckModel(history, found, &all);
		std::printf("1..%d\n", tests);
		return all ? 0 : 1;
	} catch (const std::exception &error) {
		std::printf("Bail out! %s\n", error.what());
		return 1;
	}
}
