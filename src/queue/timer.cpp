// Due jobs: see timer.hpp.
#include "queue/timer.hpp"

#include "queue/archive.hpp"
#include "queue/queue_settings.hpp"

namespace pgq_ext::queue {

// After this time a job that somebody held is looked at again.
constexpr int64 kBusyPause = 1 * USECS_PER_SEC;

struct Timers {
	Oid schema;
	JobTables tables;
	Snapshot snapshot;
	Appender *appender;
	int64 *next_position;
};

// Makes the job in jobs.row ready; held stays.
static pg::Outcome
MakeReady(const Timers &timers, const Job &job)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(timers.tables.jobs);
	pg::Set(timers.tables.jobs, column::kState, LetterDatum(State::Ready));
	return pg::UpdateNoWait(timers.tables.jobs, &tid, timers.snapshot);
}

static pg::Outcome
Expire(const Timers &timers, const Job &job)
{
	QueueSettings settings = SettingsOfJob(timers.schema, timers.snapshot, job.queue);
	int32 failures = job.failures + 1;

	if (failures < settings.max_attempts)
		return MakeReady(timers, job);
	NullableDatum error = {CStringGetTextDatum("the lease ran out"), false};
	return LeaveNoWait(timers.tables, timers.snapshot, job.tid,
					   Ending{Status::Failed, failures, error, kNone});
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
	case State::Leased:
		return Expire(timers, job);
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

TimerRun
RunTimers(Oid schema, TimestampTz now, int limit, Appender *appender, int64 *next_position)
{
	Timers timers = {schema, OpenJobTables(schema), pg::FreshSnapshot(), appender, next_position};
	MemoryContext per_row =
		AllocSetContextCreate(CurrentMemoryContext, "pgq_ext timers", ALLOCSET_DEFAULT_SIZES);
	TimerRun run = MoveDue(timers, now, limit, per_row);

	MemoryContextDelete(per_row);
	UnregisterSnapshot(timers.snapshot);
	CloseJobTables(&timers.tables);
	return run;
}

} // namespace pgq_ext::queue
