// Due jobs: see timer.hpp.
#include "queue/timer.hpp"

#include "queue/expiry.hpp"
#include "queue/ready_notes.hpp"

namespace pgq_ext::queue {

struct Timers {
	JobTables tables;
	Snapshot snapshot;
	Appender *appender;
	int64 *next_position;
};

// Makes the delayed job in jobs.row ready.
static pg::Outcome
MakeReady(const Timers &timers, const Job &job)
{
	const pg::Table &jobs = timers.tables.jobs;
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kState, LetterDatum(State::Ready));
	pg::Outcome outcome = pg::UpdateNoWait(jobs, &tid, timers.snapshot);
	if (outcome == pg::Outcome::Done)
		NoteReady(RelationGetRelid(jobs.relation), job);
	return outcome;
}

static pg::Outcome
TakePlace(const Timers &timers)
{
	if (!PlaceJob(timers.appender, timers.tables.jobs, *timers.next_position))
		return pg::Outcome::Busy;
	++*timers.next_position;
	return pg::Outcome::Done;
}

static pg::Outcome
Move(const Timers &timers, const Job &job)
{
	switch (job.state) {
	case State::Delayed:
		return MakeReady(timers, job);
	case State::Scheduled:
		return timers.appender != nullptr ? TakePlace(timers) : pg::Outcome::Changed;
	default:
		return pg::Outcome::Changed;
	}
}

// Goes through the jobs that wait for a time, in its order, until one that isn't due.
static TimerRun
MoveDue(const Timers &timers, TimestampTz now, int limit, MemoryContext per_row)
{
	const pg::Table &jobs = timers.tables.jobs;
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_timer", timers.snapshot, nullptr, 0);
	TimerRun run = {0, false, DT_NOEND};

	while (!run.limited && scan.Next()) {
		Job job = ReadJob(jobs.row);
		if (job.visible_at > now) {
			run.next_due = Min(run.next_due, job.visible_at);
			break;
		}
		MemoryContext old = MemoryContextSwitchTo(per_row);
		pg::Outcome outcome = Move(timers, job);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_row);
		if (outcome == pg::Outcome::Busy)
			run.next_due = now + kBusyPause;
		else if (outcome == pg::Outcome::Done)
			run.limited = ++run.changed == limit;
	}
	if (run.limited)
		run.next_due = now;
	scan.End();
	return run;
}

static TimerRun
Run(Oid schema, TimestampTz now, int limit, Appender *appender, int64 *next_position, bool leases)
{
	Timers timers = {OpenJobTables(schema), pg::FreshSnapshot(), appender, next_position};
	MemoryContext per_row = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext timers", ALLOCSET_DEFAULT_SIZES);
	TimerRun run = MoveDue(timers, now, limit, per_row);

	if (leases && !run.limited)
		ExpireLeases(schema, timers.tables, timers.snapshot, now, limit, per_row, &run);
	MemoryContextDelete(per_row);
	UnregisterSnapshot(timers.snapshot);
	CloseJobTables(&timers.tables);
	return run;
}

TimerRun
RunTimers(Oid schema, TimestampTz now, int limit, Appender *appender, int64 *next_position)
{
	return Run(schema, now, limit, appender, next_position, true);
}

void
RunTimersForWorker(Oid schema, int limit)
{
	static TimestampTz next_look = 0; // of this session
	TimestampTz now = GetCurrentTimestamp();
	bool leases = now >= next_look;

	if (leases)
		next_look = now + USECS_PER_SEC;
	(void)Run(schema, now, limit, nullptr, nullptr, leases);
}

} // namespace pgq_ext::queue
