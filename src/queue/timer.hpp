// What happens to jobs by the clock: retries become ready, leases run out, scheduled jobs take
// their place.
#pragma once

#include "queue/append.hpp"
#include "queue/expiry.hpp"

namespace pgq_ext::queue {

// Moves up to limit jobs that were due at now. Never waits: a job that somebody holds is left for
// the next run. A lease that has run out makes the job ready, still held by its worker until it is
// handed out again; or a dead letter when it was the last of the attempts. appender, next_position:
// the enqueuer's, for scheduled jobs; everyone else passes nullptr, and leaves those alone.
TimerRun RunTimers(Oid schema, TimestampTz now, int limit, Appender *appender, int64 *next_position);

// The same for a worker where there is no enqueuer: every second at most it looks at leases.
void RunTimersForWorker(Oid schema, int limit);

} // namespace pgq_ext::queue
