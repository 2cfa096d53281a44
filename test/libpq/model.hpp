// The model that the consumers test holds the extension against: what happened, and the rules that it must obey.
//
// It knows nothing of the extension's tables and speaks to no server. A History is made of what producers and consumers
// wrote down themselves and of what the server says at the end; each rule looks for something that can't be.
//
// Times are microseconds of the clock that the server's are made of, so that a lease's end can be compared with them.
// A client knows of each effect only an interval that it lies in: rules use the end of the interval that makes them
// sure, so that what they report is always a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace model {

using Time = int64_t;
constexpr Time kNever = std::numeric_limits<Time>::max();

enum class Act { Claim, Complete, Fail, Release, Extend, Cancel, Retry };

enum class Result {
	Done,
	Dead,       // done: a failure that made the job a dead letter
	Again,      // pgq_complete gave false: this hand-out had completed it before
	Refused,    // PQ001
	Omitted,    // not among the ids that the array form returned
	RolledBack, // done, but the transaction was rolled back
	Unknown,    // the connection was cut before the answer
};

// One call about one job, by whom the token (job, attempt) was used.
struct Operation {
	Act act;
	Result result;
	int64_t job;
	int attempt;
	// The effect lies between before and after. In a transaction that committed, these are the ends of COMMIT,
	// save for a claim, whose before and after are those of the statement that found the job.
	Time before, after;
	Time until = 0;      // end of the lease, of a claim or an extension
	bool effect = false; // a business write was in the same transaction
};

// A source's row that a committed transaction inserted, or (kEnqueued) a job that it made itself.
enum class Source { Orders, Parcels, Enqueued };
struct Event {
	Source source;
	int64_t id;
	bool
	operator<(const Event &other) const
	{
		return std::tie(source, id) < std::tie(other.source, other.id);
	}
};

struct Transaction {
	Time before, after;        // of COMMIT; after is kNever when its answer was never read
	std::vector<Event> events; // in the order of their making
};

// What the server says of a job at the end.
struct Job {
	int64_t id;
	std::string handler, queue, status;
	std::optional<std::string> key;
	std::optional<int64_t> position;
	int priority, attempt, failures, max_attempts;
	Event event;
	std::optional<int> result_attempt; // the attempt that the result was given with
	Time finished;
};

// A job that must exist, by the tables that the producers wrote.
struct Expected {
	std::string handler;
	Event event;
	std::optional<std::string> key;
	int priority;
	bool placed; // has its position by its transaction's commit, not by a later time
};

struct History {
	std::vector<Job> jobs;
	std::vector<Expected> expected;
	std::vector<Transaction> transactions;
	std::vector<Operation> operations;
	std::vector<std::pair<int64_t, int>> effects; // (job, attempt) of business writes beside a completion
	std::vector<std::string> errors;              // errors that no contract allows
	int64_t blind_claims = 0;                     // at most so many jobs were handed out to nobody
};

// A history with everything about one job in one place.
struct JobHistory {
	const Job *job = nullptr;
	std::map<int, std::vector<const Operation *>> attempts; // by attempt, in the order of before
	std::vector<const Operation *> about;                   // cancels and retries

	const Operation *Claim(int attempt) const; // nullptr when its result isn't known
	// When the hand-out surely was still its worker's, from its claim on. 0 when it isn't known.
	Time HeldUntil(int attempt) const;
	// Before this time the job surely was not finished for good. 0 when nothing is known.
	Time UnfinishedUntil() const;
	Time RetriedAt() const; // before of the last retry, 0 without one
};
using Index = std::map<int64_t, JobHistory>;
Index MakeIndex(const History &history);

using Faults = std::vector<std::string>;
struct Rule {
	const char *name, *claim;
	std::function<Faults(const History &, const Index &)> check;
};
const std::vector<Rule> &Rules();
Faults Check(const Rule &rule, const History &history);

// The rules about time and order, in order.cpp.
Faults CheckPositions(const History &history, const Index &index);
Faults CheckKeyOrder(const History &history, const Index &index);
Faults CheckOverlap(const History &history, const Index &index);
Faults CheckStaleTokens(const History &history, const Index &index);
Faults CheckRefusals(const History &history, const Index &index);

// A way to spoil a history, and the rule that must notice. False when the history has nothing to spoil that way.
struct Spoiler {
	const char *what, *rule;
	std::function<bool(History &)> spoil;
};
const std::vector<Spoiler> &Spoilers();

std::string Name(const Operation &operation); // the call and its answer
std::string Describe(const Operation &operation);
std::string Describe(const Job &job);
bool Took(const Operation &operation);    // it did what it says
bool MayHave(const Operation &operation); // it did, or nobody knows
bool Ends(const Operation &operation);    // it is of the kind that ends a hand-out

} // namespace model
