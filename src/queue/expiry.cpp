// Leases that have run out: see expiry.hpp.
#include "queue/expiry.hpp"

#include "queue/queue_settings.hpp"
#include "queue/ready_notes.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

struct Expiry {
	Oid schema;
	const JobTables *tables;
	Snapshot snapshot;
	TimestampTz now;
	int limit;
	MemoryContext per_row;
	TimerRun *run;
	ReadyOrder last[kMaxMarks]; // that may be leased, of each priority of the queue
	int nlast;
	bool known; // last has them all
};

// The lease has ended, but nothing is taken from the worker yet.
static pg::Outcome
MakeClaimable(const pg::Table &jobs, Snapshot snapshot, const Job &job)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::SetNull(jobs, column::kLeaseUntil);
	pg::Set(jobs, column::kVisibleAt, TimestampTzGetDatum(job.lease_until));
	pg::Outcome outcome = pg::UpdateNoWait(jobs, &tid, snapshot);
	if (outcome == pg::Outcome::Done)
		NoteReady(RelationGetRelid(jobs.relation), job);
	return outcome;
}

static pg::Outcome
Expire(const Expiry &expiry, const Job &job)
{
	QueueSettings settings = SettingsOfJob(expiry.schema, expiry.snapshot, job.queue);
	int32 failures = job.failures + 1;

	if (failures < settings.max_attempts)
		return MakeClaimable(expiry.tables->jobs, expiry.snapshot, job);
	NullableDatum error = {CStringGetTextDatum("the lease ran out"), false};
	return LeaveNoWait(*expiry.tables, expiry.snapshot, job.tid, Ending{Status::Failed, failures, error, kNone});
}

static void
NoteLeased(Expiry *expiry, const Job &job)
{
	int n = expiry->nlast;

	if (n > 0 && expiry->last[n - 1].priority == job.priority)
		expiry->last[n - 1].position = job.position;
	else if (n < kMaxMarks)
		expiry->last[expiry->nlast++] = ReadyOrder{job.priority, job.position};
	else
		expiry->known = false;
}

// Whether the job in jobs.row has a lease, or may get one without a claim that tells the marks: from its worker, who is late and
// extends it, or from a claim that has told them but had not been committed, and could be forgotten since.
static bool
MayGetLease(const pg::Table &jobs, const Job &job)
{
	return job.held || pg::IsReplaced(jobs.row);
}

static void
Look(Expiry *expiry, const Job &job)
{
	TimerRun *run = expiry->run;

	if (MayGetLease(expiry->tables->jobs, job))
		NoteLeased(expiry, job);
	if (!job.leased)
		return;
	if (job.lease_until > expiry->now) {
		run->next_due = Min(run->next_due, job.lease_until);
		return;
	}
	pg::Outcome outcome = Expire(*expiry, job);
	if (outcome == pg::Outcome::Busy)
		run->next_due = Min(run->next_due, expiry->now + kBusyPause);
	else if (outcome == pg::Outcome::Done)
		run->limited = ++run->changed >= expiry->limit;
}

static void
LookAt(Expiry *expiry, ScanKey keys, int nkeys)
{
	const pg::Table &jobs = expiry->tables->jobs;
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_ready", expiry->snapshot, keys, nkeys);

	while (!expiry->run->limited && scan.Next()) {
		MemoryContext old = MemoryContextSwitchTo(expiry->per_row);
		Look(expiry, ReadJob(jobs.row));
		MemoryContextSwitchTo(old);
		MemoryContextReset(expiry->per_row);
	}
	scan.End();
}

static void
ExpireOf(Expiry *expiry, Datum queue)
{
	ReadyMarks *marks = FindReadyMarks(RelationGetRelid(expiry->tables->jobs.relation), queue);
	Mark at[kMaxMarks];
	int n = 0;
	uint64 resets = 0;
	ScanKeyData keys[3];

	expiry->nlast = 0;
	expiry->known = true;
	QueueIs(&keys[0], queue);
	if (!CopyLeaseMarks(marks, at, &n, &resets)) {
		LookAt(expiry, keys, 1);
		if (expiry->known && !expiry->run->limited)
			SetLeaseMarks(marks, resets, expiry->last, expiry->nlast);
		return;
	}
	for (int i = 0; i < n; i++) {
		ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(at[i].priority));
		ScanKeyInit(&keys[2], 3, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(at[i].highest));
		LookAt(expiry, keys, 3);
	}
}

void
ExpireLeases(Oid schema, const JobTables &tables, Snapshot snapshot, TimestampTz now, int limit, MemoryContext per_row,
			 TimerRun *run)
{
	Expiry expiry = {};
	ListCell *lc;

	expiry.schema = schema;
	expiry.tables = &tables;
	expiry.snapshot = snapshot;
	expiry.now = now;
	expiry.limit = limit;
	expiry.per_row = per_row;
	expiry.run = run;
	foreach (lc, AllQueues(schema, snapshot))
		if (!run->limited)
			ExpireOf(&expiry, PointerGetDatum(lfirst(lc)));
	if (run->limited)
		run->next_due = now;
}

} // namespace pgq_ext::queue
