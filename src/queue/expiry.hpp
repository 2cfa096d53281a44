// Leases that have run out.
//
// A lease is in no index: so a hand-out changes no indexed column, and its new row version stays on its page. Leased jobs are
// among the entries of the index of ready jobs, which for each priority are looked at up to the last position that was ever
// claimed (see ready_marks.hpp): mostly leased jobs. Once after a start, when that is not known, all entries are looked at.
#pragma once

#include "queue/archive.hpp"

namespace pgq_ext::queue {

// After this time a job that somebody held is looked at again.
constexpr int64 kBusyPause = 1 * USECS_PER_SEC;

// What has come of looking at jobs that wait for a time.
struct TimerRun {
	int changed;          // jobs that were moved
	bool limited;         // the limit was reached: there may be more that is due
	TimestampTz next_due; // when to come again; DT_NOEND when nothing is waiting for a time
};

// Makes jobs whose lease ended before now ready, still held by their workers until they are handed out again; or dead letters
// when it was the last of the attempts. Never waits. Adds to *run, of which limit is the most that may be changed.
void ExpireLeases(Oid schema, const JobTables &tables, Snapshot snapshot, TimestampTz now, int limit,
				  MemoryContext per_row, TimerRun *run);

} // namespace pgq_ext::queue
