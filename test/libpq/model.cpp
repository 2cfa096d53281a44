// The rules about what there is: events and jobs, attempts, completions, failures, business writes.
#include "model.hpp"

#include <algorithm>
#include <set>

namespace model {

static const char *const kActs[] = {"claim", "complete", "fail", "release", "extend", "cancel", "retry"};
static const char *const kResults[] = {"done", "dead", "again", "refused", "omitted", "rolled back", "unknown"};

std::string
Name(const Operation &o)
{
	return std::string(kActs[static_cast<int>(o.act)]) + " " + kResults[static_cast<int>(o.result)];
}

std::string
Describe(const Operation &o)
{
	return "job " + std::to_string(o.job) + " attempt " + std::to_string(o.attempt) + ": " + Name(o) + " in [" +
		   std::to_string(o.before) + ", " + std::to_string(o.after) + "]" +
		   (o.until ? " until " + std::to_string(o.until) : "");
}

std::string
Describe(const Job &job)
{
	return "job " + std::to_string(job.id) + " (" + job.handler + ", key " + job.key.value_or("null") + ", place " +
		   (job.position ? std::to_string(*job.position) : "null") + ", " + job.status + ", attempt " +
		   std::to_string(job.attempt) + ", " + std::to_string(job.failures) + " failures)";
}

bool
Took(const Operation &o)
{
	return o.result == Result::Done || o.result == Result::Dead;
}

bool
MayHave(const Operation &o)
{
	return Took(o) || o.result == Result::Unknown;
}

bool
Ends(const Operation &o)
{
	return o.act == Act::Complete || o.act == Act::Fail || o.act == Act::Release;
}

Index
MakeIndex(const History &history)
{
	Index index;
	for (const Job &job : history.jobs)
		index[job.id].job = &job;
	for (const Operation &operation : history.operations) {
		JobHistory &job = index[operation.job];
		bool about = operation.act == Act::Cancel || operation.act == Act::Retry;
		(about ? job.about : job.attempts[operation.attempt]).push_back(&operation);
	}
	auto earlier = [](const Operation *a, const Operation *b) { return a->before < b->before; };
	for (auto &[id, job] : index) {
		for (auto &[attempt, operations] : job.attempts)
			std::stable_sort(operations.begin(), operations.end(), earlier);
	}
	return index;
}

const Operation *
JobHistory::Claim(int attempt) const
{
	auto found = attempts.find(attempt);
	if (found == attempts.end())
		return nullptr;
	for (const Operation *operation : found->second)
		if (operation->act == Act::Claim && operation->result == Result::Done)
			return operation;
	return nullptr;
}

// Either there is one job for each event and handler, with the values the handler gives it, or there is a fault.
static Faults
CheckEvents(const History &history, const Index &)
{
	Faults faults;
	std::map<std::pair<std::string, Event>, std::vector<const Job *>> made;
	for (const Job &job : history.jobs)
		made[{job.handler, job.event}].push_back(&job);
	for (const Expected &expected : history.expected) {
		auto found = made.find({expected.handler, expected.event});
		size_t count = found == made.end() ? 0 : found->second.size();
		std::string name = expected.handler + " for event " + std::to_string(expected.event.id);
		if (count != 1) {
			faults.push_back(std::to_string(count) + " jobs of " + name);
		} else if (const Job &job = *found->second[0]; job.key != expected.key || job.priority != expected.priority) {
			faults.push_back(Describe(job) + " should have key " + expected.key.value_or("null") + " and priority " +
							 std::to_string(expected.priority));
		}
		if (found != made.end())
			made.erase(found);
	}
	for (const auto &[name, jobs] : made)
		faults.push_back("no committed event for " + Describe(*jobs[0]));
	return faults;
}

static Faults
CheckFinished(const History &history, const Index &)
{
	Faults faults;
	for (const Job &job : history.jobs)
		if (job.status != "completed" && job.status != "failed" && job.status != "cancelled")
			faults.push_back("not finished: " + Describe(job));
	return faults;
}

// Numbers of hand-outs rise by one, and each was given to one worker. Only a claim whose answer was cut off may lack.
static Faults
CheckAttempts(const History &history, const Index &index)
{
	Faults faults;
	int64_t missing = 0;
	for (const auto &[id, job] : index) {
		std::set<int> handed_out;
		const Operation *previous = nullptr;
		for (const auto &[attempt, operations] : job.attempts) {
			int claims = 0;
			for (const Operation *o : operations) {
				if (o->act != Act::Claim || !MayHave(*o))
					continue;
				handed_out.insert(attempt);
				claims += Took(*o);
				if (!Took(*o))
					continue;
				if (!job.job || attempt > job.job->attempt || attempt < 1)
					faults.push_back("unknown at the end: " + Describe(*o));
				if (previous && o->after < previous->before)
					faults.push_back("out of order: " + Describe(*o));
				previous = o;
			}
			if (claims > 1)
				faults.push_back("handed out twice: " + Describe(*operations[0]));
		}
		if (job.job)
			missing += std::max<int64_t>(0, job.job->attempt - static_cast<int64_t>(handed_out.size()));
	}
	if (missing > history.blind_claims)
		faults.push_back(std::to_string(missing) + " hand-outs are missing, only " +
						 std::to_string(history.blind_claims) + " may be");
	return faults;
}

static Faults
CheckCompletions(const History &, const Index &index)
{
	Faults faults;
	for (const auto &[id, job] : index) {
		int confirmed = 0, matching = 0;
		for (const auto &[attempt, operations] : job.attempts) {
			for (const Operation *o : operations) {
				if (o->act != Act::Complete || !MayHave(*o))
					continue;
				confirmed += Took(*o);
				matching += job.job && attempt == job.job->attempt;
			}
		}
		if (!job.job) {
			if (confirmed)
				faults.push_back("completed, but unknown: job " + std::to_string(id));
			continue;
		}
		bool completed = job.job->status == "completed";
		if (confirmed > 1 || (confirmed && !completed) || (completed && !matching))
			faults.push_back(std::to_string(confirmed) + " completions, " + std::to_string(matching) +
							 " of the last attempt: " + Describe(*job.job));
		if (completed && job.job->result_attempt.value_or(job.job->attempt) != job.job->attempt)
			faults.push_back("has the result of another attempt: " + Describe(*job.job));
	}
	return faults;
}

// Failures are the hand-outs that ended in failure or by their lease: all but those given back, completed or cancelled.
static Faults
CheckFailures(const History &, const Index &index)
{
	Faults faults;
	for (const auto &[id, job] : index) {
		if (!job.job)
			continue;
		const std::string &status = job.job->status;
		int failures = job.job->failures, most = job.job->attempt, slack = status == "cancelled";
		for (const auto &[attempt, operations] : job.attempts)
			for (const Operation *o : operations)
				most -= o->act == Act::Release && Took(*o);
		most -= status == "completed";
		bool retried = job.RetriedAt() != 0;
		if (failures > most || (!retried && failures < most - slack))
			faults.push_back("should have " + std::to_string(most) + " failures: " + Describe(*job.job));
		if ((status == "failed") != (failures >= job.job->max_attempts) || failures > job.job->max_attempts)
			faults.push_back("with max_attempts " + std::to_string(job.job->max_attempts) + ": " + Describe(*job.job));
	}
	return faults;
}

// A business write is there if, and only if, the completion beside it is.
static Faults
CheckEffects(const History &history, const Index &index)
{
	Faults faults;
	std::set<std::pair<int64_t, int>> written;
	for (const auto &[job, attempt] : history.effects) {
		auto found = index.find(job);
		bool right = found != index.end() && found->second.job && found->second.job->status == "completed" &&
					 found->second.job->attempt == attempt;
		if (!written.insert({job, attempt}).second || !right)
			faults.push_back("a write of job " + std::to_string(job) + " attempt " + std::to_string(attempt) +
							 " too much");
	}
	for (const Operation &o : history.operations)
		if (o.effect && Took(o) && !written.count({o.job, o.attempt}))
			faults.push_back("its write is missing: " + Describe(o));
	return faults;
}

static Faults
CheckErrors(const History &history, const Index &)
{
	return history.errors;
}

const std::vector<Rule> &
Rules()
{
	static const std::vector<Rule> rules = {
		{"errors", "no error that the contract does not allow, and pgq_check found nothing", CheckErrors},
		{"finished", "every job is completed, failed for good or cancelled", CheckFinished},
		{"events", "every event has exactly one job per handler, and no job lacks an event", CheckEvents},
		{"positions", "places follow commit order", CheckPositions},
		{"attempts", "attempts strictly rise, and none was handed out twice", CheckAttempts},
		{"completions", "a job is completed once, by its last hand-out", CheckCompletions},
		{"failures", "failures are counted, and at max_attempts the job is a dead letter", CheckFailures},
		{"effects", "business writes commit with the completion or not at all", CheckEffects},
		{"order", "within a key jobs start in commit order, each after all earlier ones", CheckKeyOrder},
		{"overlap", "no job is handed out while another hand-out of it is current", CheckOverlap},
		{"tokens", "a stale token changes nothing", CheckStaleTokens},
		{"refusals", "a hand-out that is current is never refused", CheckRefusals},
	};
	return rules;
}

Faults
Check(const Rule &rule, const History &history)
{
	return rule.check(history, MakeIndex(history));
}

} // namespace model
