// Ways to spoil a history: proof that the model would notice a wrong run.
#include "model.hpp"

#include <algorithm>

namespace model {

namespace {

// The first job that fits, from the middle of the history on, where there is most going on.
Job *
FindJob(History &history, const std::function<bool(const Job &)> &fits)
{
	auto middle = history.jobs.begin() + static_cast<ptrdiff_t>(history.jobs.size() / 2);
	std::rotate(history.jobs.begin(), middle, history.jobs.end());
	auto found = std::find_if(history.jobs.begin(), history.jobs.end(), fits);
	return found == history.jobs.end() ? nullptr : &*found;
}

Operation *
FindOperation(History &history, const std::function<bool(const Operation &)> &fits)
{
	auto found = std::find_if(history.operations.begin(), history.operations.end(), fits);
	return found == history.operations.end() ? nullptr : &*found;
}

bool
IsCompleted(const Job &job)
{
	return job.status == "completed";
}

// Changes one job that fits.
std::function<bool(History &)>
OneJob(std::function<bool(const Job &)> fits, std::function<void(Job &, History &)> change)
{
	return [=](History &history) {
		Job *job = FindJob(history, fits);
		if (job)
			change(*job, history);
		return job != nullptr;
	};
}

// Changes one operation that fits.
std::function<bool(History &)>
OneOperation(std::function<bool(const Operation &, const Index &)> fits,
			 std::function<void(Operation &, const Index &)> change)
{
	return [=](History &history) {
		// The index points into a copy, so that changes don't move what it says.
		const History before = history;
		const Index index = MakeIndex(before);
		Operation *operation = FindOperation(history, [&](const Operation &o) { return fits(o, index); });
		if (operation)
			change(*operation, index);
		return operation != nullptr;
	};
}

bool
Is(const Operation &o, Act act)
{
	return o.act == act && o.result == Result::Done;
}

// The end of the job just before this one in its key, when both were completed and it is known when; otherwise 0.
Time
EndOfPredecessor(const Job &job, const Index &index)
{
	const JobHistory *predecessor = nullptr;
	for (const auto &[id, other] : index) {
		const Job *o = other.job;
		if (o && o->handler == job.handler && o->key == job.key && o->position && job.position &&
			*o->position < *job.position && (!predecessor || *o->position > *predecessor->job->position))
			predecessor = &other;
	}
	return predecessor ? predecessor->UnfinishedUntil() : 0;
}

bool
SwapTransactions(History &history)
{
	std::vector<Transaction> &all = history.transactions;
	for (size_t i = 0; i + 1 < all.size(); i++) {
		for (size_t j = i + 1; j < all.size(); j++) {
			if (all[i].after < all[j].before && !all[i].events.empty() && !all[j].events.empty() &&
				all[i].events[0].source == Source::Orders && all[j].events[0].source == Source::Orders) {
				std::swap(all[i].events, all[j].events);
				return true;
			}
		}
	}
	return false;
}

// Lets a job trade places with the one before it in its key.
bool
SwapInKey(History &history)
{
	std::map<std::pair<std::string, std::string>, Job *> latest;
	const History copy = history;
	const Index index = MakeIndex(copy);
	for (Job &job : history.jobs) {
		if (!job.key || !job.position || !IsCompleted(job))
			continue;
		Job *&before = latest[{job.handler, *job.key}];
		if (before && index.at(before->id).Claim(1) && index.at(job.id).Claim(1)) {
			std::swap(before->position, job.position);
			return true;
		}
		before = &job;
	}
	return false;
}

} // namespace

const std::vector<Spoiler> &
Spoilers()
{
	auto any = [](const Job &) { return true; };
	auto failed = [](const Job &job) { return job.status == "failed"; };
	static const std::vector<Spoiler> spoilers = {
		{"a job was lost", "events",
		 OneJob(any, [](Job &job, History &h) { h.jobs.erase(h.jobs.begin() + (&job - &h.jobs[0])); })},
		{"a job was doubled", "events",
		 OneJob(any,
				[](Job &job, History &h) {
					Job twin = job;
					twin.id = -1;
					h.jobs.push_back(twin);
				})},
		{"an aborted event got a job", "events", OneJob(any, [](Job &job, History &) { job.event.id = -1; })},
		{"a job has a wrong key", "events",
		 OneJob(any, [](Job &job, History &) { job.key = job.key.value_or("") + "?"; })},
		{"a job was left lying", "finished", OneJob(any, [](Job &job, History &) { job.status = "pending"; })},
		{"two transactions changed places", "positions", SwapTransactions},
		{"two jobs have one place", "positions",
		 OneJob(any, [](Job &job, History &h) { job.position = h.jobs.back().position; })},
		{"two jobs of a key changed places", "order", SwapInKey},
		{"a job started before its predecessor's end", "order",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 const Job *job = index.at(o.job).job;
				 return Is(o, Act::Claim) && job && job->key && index.at(o.job).RetriedAt() == 0 &&
						EndOfPredecessor(*job, index) != 0;
			 },
			 [](Operation &o, const Index &index) {
				 o.after = EndOfPredecessor(*index.at(o.job).job, index) - 1;
				 o.before = o.after - 1;
			 })},
		{"a job was handed out during its lease", "overlap",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 return Is(o, Act::Claim) && index.at(o.job).HeldUntil(o.attempt - 1) != 0;
			 },
			 [](Operation &o, const Index &index) { o.after = index.at(o.job).HeldUntil(o.attempt - 1) - 1; })},
		{"a hand-out was given to two workers", "attempts",
		 [](History &h) {
			 Operation *o = FindOperation(h, [](const Operation &c) { return Is(c, Act::Claim); });
			 if (o)
				 h.operations.push_back(Operation(*o));
			 return o != nullptr;
		 }},
		{"attempts jumped", "attempts",
		 OneJob(any, [](Job &job, History &h) { job.attempt += static_cast<int>(h.blind_claims) + 1; })},
		{"a job was completed twice", "completions",
		 [](History &h) {
			 Operation *o = FindOperation(h, [](const Operation &c) { return Is(c, Act::Complete); });
			 if (o)
				 h.operations.push_back(Operation(*o));
			 return o != nullptr;
		 }},
		{"a job was completed by nobody", "completions",
		 OneJob(failed, [](Job &job, History &) { job.status = "completed"; })},
		{"a completed job is not completed", "completions",
		 [](History &h) {
			 Operation *o = FindOperation(h, [](const Operation &c) { return Is(c, Act::Complete); });
			 Job *job = o ? FindJob(h, [o](const Job &j) { return j.id == o->job; }) : nullptr;
			 if (job)
				 job->status = "failed";
			 return job != nullptr;
		 }},
		{"a failure was forgotten", "failures", OneJob(failed, [](Job &job, History &) { job.failures--; })},
		{"a release was counted as a failure", "failures",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 const JobHistory &job = index.at(o.job);
				 return Is(o, Act::Release) && job.job && IsCompleted(*job.job) && !job.RetriedAt();
			 },
			 [](Operation &o, const Index &) { o.act = Act::Extend; })},
		{"a write survived its rollback", "effects",
		 OneJob(any, [](Job &job, History &h) { h.effects.emplace_back(job.id, job.attempt + 1); })},
		{"a write got lost", "effects",
		 [](History &h) {
			 Operation *o = FindOperation(h, [](const Operation &c) { return c.effect && Took(c); });
			 if (o)
				 h.effects.erase(std::remove(h.effects.begin(), h.effects.end(), std::make_pair(o->job, o->attempt)),
								 h.effects.end());
			 return o != nullptr;
		 }},
		{"a token was accepted after the next hand-out", "tokens",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 const Operation *next = index.at(o.job).Claim(o.attempt + 1);
				 return o.result == Result::Refused && next && next->after < o.before;
			 },
			 [](Operation &o, const Index &) { o.result = Result::Done; })},
		{"a token that was made up was accepted", "tokens",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 return o.result == Result::Refused && index.at(o.job).attempts.at(o.attempt).size() == 1;
			 },
			 [](Operation &o, const Index &) { o.result = Result::Done; })},
		{"a current hand-out was refused", "refusals",
		 OneOperation(
			 [](const Operation &o, const Index &index) {
				 const Operation *claim = index.at(o.job).Claim(o.attempt);
				 return Is(o, Act::Complete) && claim && o.after < claim->until;
			 },
			 [](Operation &o, const Index &) { o.result = Result::Refused; })},
	};
	return spoilers;
}

} // namespace model
