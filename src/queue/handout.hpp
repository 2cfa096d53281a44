// A job in a worker's hands, and what it takes to change it.
#pragma once

#include "queue/job.hpp"
#include "queue/worker_rights.hpp"

namespace pgq_ext::queue {

// What a worker calls with. Current while the live job is held under this attempt.
struct HandOut {
	int64 job_id;
	int32 attempt;
	const Limits *limits; // of who calls; nullptr: none
};

// Raises PQ001: this hand-out isn't current.
[[noreturn]] void RaiseNotCurrent(const HandOut &hand_out);

// Reads the live job of this id, which is in jobs.row; false when it is under another hand-out.
// insufficient_privilege (42501) when its queue isn't one that the caller may work.
bool ReadCurrent(const pg::Table &jobs, Snapshot snapshot, const HandOut &hand_out, Job *job);

// Finds it into jobs.row before; false when the snapshot shows none, too.
bool FindCurrent(const pg::Table &jobs, Snapshot snapshot, const HandOut &hand_out, Job *job);

// Runs change(snapshot, job) on the current hand-out, in jobs.row, until it is Done: again with a
// new snapshot when the row was changed meanwhile. False when the hand-out isn't current (any
// more).
template <typename Change>
bool
ChangeCurrent(const pg::Table &jobs, const HandOut &hand_out, const Change &change)
{
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = pg::FreshSnapshot();
		Job job;
		bool current = FindCurrent(jobs, snapshot, hand_out, &job);
		pg::Outcome outcome = current ? change(snapshot, job) : pg::Outcome::Changed;
		UnregisterSnapshot(snapshot);
		if (!current || outcome == pg::Outcome::Done)
			return current;
	}
}

} // namespace pgq_ext::queue
