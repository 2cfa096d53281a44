// The rules about time: places against commit order, starts within a key, spans of hand-outs, tokens that are too late.
#include "model.hpp"

#include <algorithm>
#include <climits>

namespace model {

Time
JobHistory::HeldUntil(int attempt) const
{
	const Operation *claim = Claim(attempt);
	if (!claim)
		return 0;
	Time end = claim->until;
	for (const Operation *o : attempts.at(attempt)) {
		if (o->result == Result::Unknown)
			return std::min(end, o->before);
		if (Ends(*o) && Took(*o))
			return o->before;
		if (o->act == Act::Extend && Took(*o))
			end = o->until;
		else if (o->result == Result::RolledBack && o->act != Act::Claim)
			end = std::max(end, o->before); // an expired lease, but the server took the token
	}
	for (const Operation *o : about)
		if (o->act == Act::Cancel && MayHave(*o))
			end = std::min(end, o->before);
	return end;
}

Time
JobHistory::UnfinishedUntil() const
{
	Time time = kNever;
	if (job->status == "cancelled") {
		for (const Operation *o : about)
			if (o->act == Act::Cancel && MayHave(*o))
				time = std::min(time, o->before);
	} else if (auto last = attempts.find(job->attempt); last != attempts.end()) {
		Act ending = job->status == "completed" ? Act::Complete : Act::Fail;
		for (const Operation *o : last->second)
			if (o->act == ending && MayHave(*o))
				time = std::min(time, o->before);
		if (time == kNever && ending == Act::Fail)
			time = HeldUntil(job->attempt);
	}
	return time == kNever ? 0 : time;
}

Time
JobHistory::RetriedAt() const
{
	Time time = 0;
	for (const Operation *o : about)
		if (o->act == Act::Retry && MayHave(*o))
			time = std::max(time, o->before);
	return time;
}

namespace {

struct Places {
	const Transaction *transaction;
	int64_t first = INT64_MAX, last = INT64_MIN;
};

void
CheckInsideTransactions(const History &history, const std::map<Event, std::vector<const Job *>> &placed, Faults *faults)
{
	for (const Transaction &transaction : history.transactions) {
		std::map<std::string, const Job *> latest;
		for (const Event &event : transaction.events) {
			auto found = placed.find(event);
			if (found == placed.end())
				continue;
			for (const Job *job : found->second) {
				const Job *&before = latest[job->handler];
				if (before && *before->position >= *job->position)
					faults->push_back(Describe(*job) + " was made after " + Describe(*before));
				before = job;
			}
		}
	}
}

} // namespace

Faults
CheckPositions(const History &history, const Index &index)
{
	Faults faults;
	std::map<std::pair<std::string, Event>, bool> placed_by_commit;
	for (const Expected &expected : history.expected)
		placed_by_commit[{expected.handler, expected.event}] = expected.placed;

	std::map<Event, std::vector<const Job *>> placed;
	std::map<int64_t, const Job *> by_position;
	for (const Job &job : history.jobs) {
		// A job that waits for its time takes its place then; it may be cancelled before.
		bool has_place = placed_by_commit[{job.handler, job.event}];
		if (!job.position) {
			if (has_place || job.status != "cancelled")
				faults.push_back("has no place: " + Describe(job));
			continue;
		}
		if (const Job *&other = by_position[*job.position]; other)
			faults.push_back("have one place: " + Describe(*other) + ", " + Describe(job));
		else
			other = &job;
		if (has_place && index.at(job.id).RetriedAt() == 0)
			placed[job.event].push_back(&job);
	}
	CheckInsideTransactions(history, placed, &faults);

	std::vector<Places> all;
	for (const Transaction &transaction : history.transactions) {
		Places places{&transaction};
		for (const Event &event : transaction.events) {
			auto found = placed.find(event);
			if (found == placed.end())
				continue;
			for (const Job *job : found->second) {
				places.first = std::min(places.first, *job->position);
				places.last = std::max(places.last, *job->position);
			}
		}
		if (places.first <= places.last)
			all.push_back(places);
	}

	// Places of transactions don't interleave, ...
	std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.first < b.first; });
	for (size_t i = 1; i < all.size(); i++)
		if (all[i - 1].last >= all[i].first)
			faults.push_back("transactions interleave at place " + std::to_string(all[i].first));

	// ... and one that was committed before another's COMMIT was sent comes first.
	std::vector<Places> by_end = all;
	std::sort(by_end.begin(), by_end.end(),
			  [](auto &a, auto &b) { return a.transaction->after < b.transaction->after; });
	std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.transaction->before < b.transaction->before; });
	int64_t highest = INT64_MIN;
	size_t ended = 0;
	for (const Places &places : all) {
		for (; ended < by_end.size() && by_end[ended].transaction->after < places.transaction->before; ended++)
			highest = std::max(highest, by_end[ended].last);
		if (highest > places.first)
			faults.push_back("committed later, but placed before " + std::to_string(highest) + ": " +
							 Describe(*by_position[places.first]));
	}
	return faults;
}

Faults
CheckKeyOrder(const History &history, const Index &index)
{
	Faults faults;
	std::map<std::pair<std::string, std::string>, std::map<int64_t, const JobHistory *>> keys;
	for (const Job &job : history.jobs)
		if (job.key && job.position)
			keys[{job.handler, *job.key}][*job.position] = &index.at(job.id);
	for (const auto &[key, jobs] : keys) {
		Time busy_until = 0; // every earlier job of the key is finished only after this time
		const Job *holder = nullptr;
		for (const auto &[position, job] : jobs) {
			for (const auto &[attempt, operations] : job->attempts) {
				const Operation *claim = job->Claim(attempt);
				// What was handed out before the job was a dead letter stood at another place.
				if (claim && claim->before >= job->RetriedAt() && claim->after < busy_until)
					faults.push_back(Describe(*job->job) + " was handed out before " + std::to_string(busy_until) +
									 ", the end of " + Describe(*holder) + ": " + Describe(*claim));
			}
			if (Time until = job->UnfinishedUntil(); until > busy_until) {
				busy_until = until;
				holder = job->job;
			}
		}
	}
	return faults;
}

Faults
CheckOverlap(const History &, const Index &index)
{
	Faults faults;
	for (const auto &[id, job] : index) {
		Time held_until = 0;
		for (const auto &[attempt, operations] : job.attempts) {
			const Operation *claim = job.Claim(attempt);
			if (claim && claim->after < held_until)
				faults.push_back("an earlier hand-out is current until " + std::to_string(held_until) + ": " +
								 Describe(*claim));
			held_until = std::max(held_until, job.HeldUntil(attempt));
		}
	}
	return faults;
}

Faults
CheckStaleTokens(const History &history, const Index &index)
{
	Faults faults;
	for (const Operation &o : history.operations) {
		bool accepted = Took(o) || o.result == Result::RolledBack || o.result == Result::Again;
		if (o.act == Act::Claim || o.act == Act::Cancel || o.act == Act::Retry || !accepted)
			continue;
		const JobHistory &job = index.at(o.job);
		bool handed_out = false, completed = false;
		for (const Operation *other : job.attempts.at(o.attempt)) {
			handed_out |= other->act == Act::Claim && MayHave(*other);
			completed |= other->act == Act::Complete && MayHave(*other) && other->before < o.before;
			if (other != &o && Ends(*other) && Took(*other) && other->after < o.before && o.result != Result::Again)
				faults.push_back("accepted after its end (" + Describe(*other) + "): " + Describe(o));
		}
		if (!handed_out)
			faults.push_back("accepted, but never handed out: " + Describe(o));
		if (o.result == Result::Again && !completed)
			faults.push_back("never completed by this hand-out: " + Describe(o));
		for (auto later = job.attempts.upper_bound(o.attempt); later != job.attempts.end(); ++later) {
			const Operation *claim = job.Claim(later->first);
			if (claim && claim->after < o.before)
				faults.push_back("accepted after the next hand-out (" + Describe(*claim) + "): " + Describe(o));
		}
		for (const Operation *other : job.about)
			if (other->act == Act::Cancel && Took(*other) && other->after < o.before)
				faults.push_back("accepted after a cancel: " + Describe(o));
	}
	return faults;
}

// Whether there is a reason why the token of a refused call was no longer current.
static bool
HasReason(const Operation &o, const JobHistory &job)
{
	const Operation *claim = job.Claim(o.attempt);
	if (!claim)
		return true; // made up
	Time until = claim->until;
	for (const Operation *other : job.attempts.at(o.attempt)) {
		if (Ends(*other) && MayHave(*other) && other->before < o.after)
			return true;
		if (other->act == Act::Extend && Took(*other) && other->before < o.before)
			until = other->until;
	}
	for (const Operation *other : job.about)
		if (other->act == Act::Cancel && MayHave(*other) && other->before < o.after)
			return true;
	if (until >= o.after)
		return false;

	// The lease had ended; it is lost when the server has handed the job out again or made it a dead letter.
	if (job.job && job.job->attempt > o.attempt) {
		const Operation *next = job.Claim(o.attempt + 1);
		return !next || next->before < o.after || job.RetriedAt() != 0;
	}
	return job.job && job.job->status == "failed" && job.job->finished < o.after;
}

Faults
CheckRefusals(const History &history, const Index &index)
{
	Faults faults;
	for (const Operation &o : history.operations)
		if ((o.result == Result::Refused || o.result == Result::Omitted) && !HasReason(o, index.at(o.job)))
			faults.push_back("no reason to refuse: " + Describe(o));
	return faults;
}

} // namespace model
