// Where in the index of ready jobs something may be claimed: one hint per queue, in shared memory.
//
// The index keeps entries of jobs that are leased, and of jobs that are gone until vacuum may remove them; a transaction
// that stays open anywhere keeps it from that. So a claim does not begin at the start of its queue, but at *marks*: for each
// priority the position before which nothing is claimable. Of priorities that have no mark it looks at all there is, unless
// it is known that there is nothing. A claim raises the marks behind what it has seen. Whatever makes a job claimable notes
// its order (priority and position) when its transaction has ended; what is noted before a mark is looked at one by one. A
// claim that was seen by nobody yet but rolls back notes what it had claimed.
//
// Wrong marks make a job wait, never go wrong: each five seconds or so, a claim begins at the start, and lowers the marks as
// well: to behind what it has seen, or to the start where it has not come to. Nobody may raise a mark past a job that became
// claimable after his snapshot: so what was noted since he looked bounds what he raises.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "storage/spin.h"
}

namespace pgq_ext::queue {

struct ReadyOrder {
	int32 priority;
	int64 position;
};

struct Mark {
	int32 priority;
	int64 from;    // nothing before this position is claimable
	int64 highest; // no job behind this position has been claimed
};

constexpr int kMaxMarks = 16;
constexpr int kMaxRecent = 128;
constexpr int kMaxEarly = 2 * kMaxRecent;

// Of one queue. All below under the lock, which is held for a few hundred instructions at most.
struct ReadyMarks {
	slock_t lock;
	uint64 id;     // of the queue; 0: free
	uint64 noted;  // how many orders have been noted; the last ones are in recent
	uint64 looked; // those before this one need not be looked at
	ReadyOrder recent[kMaxRecent];
	uint64 resets;     // how often all marks were forgotten, or lowered
	bool leases_known; // every job claimed, also by a claim under way, is at a priority with a mark, up to its highest
	int64 marked;      // every ready job of a priority before this one is at one that has a mark
	int n;
	Mark marks[kMaxMarks]; // by priority; of one that has none, from marked on, everything may be claimable
	TimestampTz full_scan_at;
};

// What a claim knows when it begins, taken before its snapshot.
struct ClaimPlan {
	ReadyMarks *marks; // nullptr: no hints
	bool full;         // begin at the start
	uint64 noted;
	uint64 resets;
	int64 marked;
	int nmarks;
	Mark at[kMaxMarks];
	int nearly;
	ReadyOrder early[kMaxEarly]; // noted before the marks, in order
};

// What it has seen of one priority.
struct Seen {
	int32 priority;
	int64 to;      // nothing before this position is claimable any more, as far as it has seen
	bool blocked;  // it saw a job that may become claimable without being noted; to is its position
	int64 claimed; // the last position that it claimed; -1: none
};

// The mark of the priority, a new one at the start if need be; nullptr, and all of them forgotten, when there are too many. To be
// called under the lock.
Mark *MarkOf(ReadyMarks *marks, int32 priority);

Size ReadyMarksSize();
void InitReadyMarks(void *memory, bool first); // by every process that gets to know the memory

// The marks of the queue (text) of this pgq_job, given to it if need be and never taken back; nullptr when there is no room for
// more, or no shared memory.
ReadyMarks *FindReadyMarks(Oid jobs, Datum queue);

// The same, nullptr also when it has none yet.
ReadyMarks *KnownReadyMarks(Oid jobs, Datum queue);

void PlanClaim(ReadyMarks *marks, ClaimPlan *plan);

// Whether it is time for a claim from the start, which the caller is going to make.
bool TakeFullScan(ReadyMarks *marks, TimestampTz now);

// For this claim alone: a job of that order may be claimable, or all: and any behind it.
void AddToPlan(ClaimPlan *plan, ReadyOrder order, bool all);

// Number i of plan.early stays noted, and is looked at again by the next claim.
void RemoveFromPlan(ClaimPlan *plan, int i);

// Moves the marks behind what the claim has seen. It has looked at the first nlooked of plan.early, at the priorities in
// seen, and before covered at every priority that had no mark.
void MoveMarks(const ClaimPlan &plan, int nlooked, const Seen *seen, int nseen, int64 covered, TimestampTz began);

// A job of that order may be claimable now; all: and any behind it.
void LowerMark(ReadyMarks *marks, ReadyOrder order, bool all);

// Lowers the marks of the queue to the start: what has become claimable is not known.
void LowerMarks(ReadyMarks *marks);

// Forgets the marks of the queue: what is claimed where is not known any more.
void ForgetMarks(ReadyMarks *marks);

// The same for all queues.
void ForgetAllMarks();

// Anything may have become claimable that nobody can note: lowers all marks of all queues to the start.
void DistrustReadyMarks();

// The leases to look at: copies the marks; false when every entry of the queue must be looked at.
bool CopyLeaseMarks(ReadyMarks *marks, Mark *at, int *n, uint64 *resets);

// Every entry has been looked at, and these are the last of each priority that have a lease, or may get one from somebody who
// doesn't tell the marks.
void SetLeaseMarks(ReadyMarks *marks, uint64 resets, const ReadyOrder *last, int n);

} // namespace pgq_ext::queue
