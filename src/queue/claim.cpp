// Handing jobs to workers: see claim.hpp.
#include "queue/claim.hpp"

#include "pg/fault.hpp"
#include "queue/due.hpp"
#include "queue/keys.hpp"
#include "queue/queue_settings.hpp"
#include "queue/ready_notes.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

// The columns of pgq_dequeue's result.
enum {
	kJobId,
	kAttempt,
	kHandler,
	kKey,
	kPriority,
	kArgs,
	kLeaseUntil,
	kCreatedAt,
	kResultColumns,
};

// Makes jobs.changed the claimed version of job, which is in jobs.row. A job still held is one
// whose lease ran out.
static void
StartClaim(const pg::Table &jobs, const Job &job, TimestampTz lease_until, NullableDatum worker)
{
	using namespace column;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kAttempt, Int32GetDatum(job.attempt + 1));
	pg::Set(jobs, kFailures, Int32GetDatum(job.failures + (job.held ? 1 : 0)));
	pg::Set(jobs, kHeld, BoolGetDatum(true));
	pg::Set(jobs, kVerified, BoolGetDatum(true));
	pg::Set(jobs, column::kLeaseUntil, TimestampTzGetDatum(lease_until));
	if (worker.isnull)
		pg::SetNull(jobs, kWorker);
	else
		pg::Set(jobs, kWorker, worker.value);
}

// Adds the claimed row in jobs.changed to the result.
static void
Emit(const pg::Table &jobs, Tuplestorestate *out, TupleDesc shape)
{
	static const int kSource[kResultColumns] = {
		column::kJobId,    column::kAttempt, column::kHandler,    column::kKey,
		column::kPriority, column::kArgs,    column::kLeaseUntil, column::kCreatedAt,
	};
	Datum values[kResultColumns];
	bool nulls[kResultColumns];

	for (int i = 0; i < kResultColumns; i++) {
		values[i] = jobs.changed->tts_values[kSource[i] - 1];
		nulls[i] = jobs.changed->tts_isnull[kSource[i] - 1];
	}
	tuplestore_putvalues(out, shape, values, nulls);
}

constexpr int kScanKeys = 3;

// One claim under way.
struct Claiming {
	const ClaimRequest *request;
	pg::Table jobs;
	Snapshot snapshot;
	pg::Scan scan;               // of the index of ready jobs, with one range after the other
	ScanKeyData keys[kScanKeys]; // of the range; the first is the queue's
	TimestampTz lease_until;
	ClaimPlan plan;
	int32 claimed;
	Tuplestorestate *out;
	TupleDesc shape;
	MemoryContext per_row;
	Seen seen[2 * kMaxMarks]; // of the priorities that it came to, in order
	int nseen;
	int64 covered; // it has looked at every priority before this one that has no mark
};

enum class Found { Claimed, Taken, MustWait };

// Claims the job in jobs.row, unless it must wait for an earlier one (rule 6 of keys.hpp) or
// somebody else has it.
static Found
TryClaim(Claiming *claiming, const Job &job)
{
	const pg::Table &jobs = claiming->jobs;

	if (job.leased)
		return Found::Taken;
	if (!job.verified && HasEarlier(jobs, claiming->snapshot, job.key, job.position))
		return Found::MustWait;
	StartClaim(jobs, job, claiming->lease_until, claiming->request->worker);
	ItemPointerData tid = job.tid;
	if (pg::UpdateNoWait(jobs, &tid, claiming->snapshot) != pg::Outcome::Done)
		return Found::Taken;
	NoteTaken(claiming->plan.marks, ReadyOrder{job.priority, job.position});
	Emit(jobs, claiming->out, claiming->shape);
	claiming->claimed++;
	return Found::Claimed;
}

// What has been seen of the priority; nullptr when there are too many to keep.
static Seen *
SeenOf(Claiming *claiming, int32 priority)
{
	int n = claiming->nseen;

	if (n > 0 && claiming->seen[n - 1].priority == priority)
		return &claiming->seen[n - 1];
	if (n == lengthof(claiming->seen))
		return nullptr;
	claiming->seen[n] = Seen{priority, 0, false, -1};
	claiming->nseen++;
	return &claiming->seen[n];
}

static void
Note(Seen *seen, const Job &job, Found found, bool passing)
{
	if (found == Found::Claimed)
		seen->claimed = Max(seen->claimed, job.position);
	if (!passing || seen->blocked)
		return;
	seen->blocked = found == Found::MustWait;
	seen->to = seen->blocked ? job.position : job.position + 1;
}

static Found
ClaimHere(Claiming *claiming, const Job &job, bool passing)
{
	Seen *seen = SeenOf(claiming, job.priority);
	Found found = TryClaim(claiming, job);

	if (seen != nullptr)
		Note(seen, job, found, passing);
	else
		ForgetMarks(claiming->plan.marks);
	return found;
}

static bool
HasEnough(const Claiming &claiming)
{
	return claiming.claimed == claiming.request->batch_size;
}

static void
StartScan(Claiming *claiming)
{
	if (claiming->scan.desc == nullptr)
		claiming->scan = pg::BeginScan(claiming->jobs, "pgq_job_ready", claiming->snapshot, claiming->keys, kScanKeys);
	else
		claiming->scan.Restart(claiming->keys);
}

// Claims what the scan keys find, in order. passing: they find all there is from some mark on, or from the start. Returns
// whether there is a job that must wait.
static bool
ClaimRange(Claiming *claiming, bool passing)
{
	bool must_wait = false;

	StartScan(claiming);
	while (!HasEnough(*claiming) && claiming->scan.Next()) {
		MemoryContext old = MemoryContextSwitchTo(claiming->per_row);
		Job job = ReadJob(claiming->jobs.row);
		if (IsOfQueue(job, claiming->request->queue))
			must_wait |= ClaimHere(claiming, job, passing) == Found::MustWait;
		MemoryContextSwitchTo(old);
		MemoryContextReset(claiming->per_row);
	}
	return must_wait;
}

// Claims what has a priority from first to last, none of which has a mark; everything before first has been looked at.
static void
ClaimPriorities(Claiming *claiming, int64 first, int64 last)
{
	if (first <= last) {
		ScanKeyInit(&claiming->keys[1], 2, BTGreaterEqualStrategyNumber, F_INT4GE, Int32GetDatum(first));
		ScanKeyInit(&claiming->keys[2], 2, BTLessEqualStrategyNumber, F_INT4LE, Int32GetDatum(last));
		(void)ClaimRange(claiming, true);
	}
	if (!HasEnough(*claiming))
		claiming->covered = last + 1;
}

static void
SetKeys(Claiming *claiming, int32 priority, StrategyNumber position, int64 from)
{
	RegProcedure procedure = position == BTEqualStrategyNumber ? F_INT8EQ : F_INT8GE;

	ScanKeyInit(&claiming->keys[1], 2, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(priority));
	ScanKeyInit(&claiming->keys[2], 3, position, procedure, Int64GetDatum(from));
}

// Claims what was noted before the marks, up to this priority. Returns how many of plan.early have been looked at. A job that
// must wait has not: who is in front of it may be leaving without having seen it, and then nobody notes it again.
static int
ClaimEarly(Claiming *claiming, int looked, int32 priority)
{
	ClaimPlan *plan = &claiming->plan;

	while (looked < plan->nearly && plan->early[looked].priority <= priority && !HasEnough(*claiming)) {
		ReadyOrder order = plan->early[looked];
		SetKeys(claiming, order.priority, BTEqualStrategyNumber, order.position);
		if (ClaimRange(claiming, false))
			RemoveFromPlan(plan, looked);
		else
			looked++;
	}
	return looked;
}

static void
ClaimFromMark(Claiming *claiming, const Mark &mark)
{
	SetKeys(claiming, mark.priority, BTGreaterEqualStrategyNumber, mark.from);
	(void)ClaimRange(claiming, true);
}

// Most urgent first: of each priority that has a mark what was noted before it, then what is behind it; all of the others,
// unless it is known that there are none.
static int
ClaimByMarks(Claiming *claiming)
{
	const ClaimPlan &plan = claiming->plan;
	int64 next = plan.marked;
	int looked = 0;

	for (int i = 0; i < plan.nmarks && !HasEnough(*claiming); i++) {
		int64 priority = plan.at[i].priority;
		ClaimPriorities(claiming, next, priority - 1);
		looked = ClaimEarly(claiming, looked, plan.at[i].priority);
		ClaimFromMark(claiming, plan.at[i]);
		next = Max(next, priority + 1);
	}
	ClaimPriorities(claiming, next, PG_INT32_MAX);
	return looked;
}

// There is room for so many queues, and it is not given to names that callers make up.
static ReadyMarks *
MarksOf(const ClaimRequest &request, const pg::Table &jobs)
{
	Oid relid = RelationGetRelid(jobs.relation);
	ReadyMarks *marks = KnownReadyMarks(relid, request.queue);

	if (marks != nullptr)
		return marks;
	Snapshot snapshot = pg::FreshSnapshot();
	RequireWork(request.limits, snapshot, request.queue);
	(void)RequireQueue(request.schema, snapshot, request.queue);
	UnregisterSnapshot(snapshot);
	return FindReadyMarks(relid, request.queue);
}

void
Claim(const ClaimRequest &request, const pg::Table &jobs, Tuplestorestate *out, TupleDesc shape)
{
	TimestampTz now = GetCurrentTimestamp();
	Claiming claiming = {};

	claiming.request = &request;
	claiming.covered = PG_INT32_MIN;
	QueueIs(&claiming.keys[0], request.queue);
	claiming.out = out;
	claiming.shape = shape;
	claiming.jobs = jobs;
	PlanClaim(MarksOf(request, jobs), &claiming.plan);
	AddReadyNotes(&claiming.plan);
	claiming.snapshot = pg::FreshSnapshot();
	RequireWork(request.limits, claiming.snapshot, request.queue);
	QueueSettings settings = RequireQueue(request.schema, claiming.snapshot, request.queue);
	claiming.lease_until = Later(now, request.lease != nullptr ? *request.lease : settings.lease);
	claiming.plan.full |= TakeFullScan(claiming.plan.marks, now); // nothing is left to be refused
	claiming.per_row = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext claim", ALLOCSET_DEFAULT_SIZES);

	int looked = 0;
	if (claiming.plan.full)
		ClaimPriorities(&claiming, PG_INT32_MIN, PG_INT32_MAX);
	else
		looked = ClaimByMarks(&claiming);
	if (claiming.scan.desc != nullptr)
		claiming.scan.End();
	pg::FaultPoint("after_claim");
	MoveMarks(claiming.plan, looked, claiming.seen, claiming.nseen, claiming.covered, now);
	if (claiming.claimed > 0)
		NoteDue(claiming.lease_until);
	UnregisterSnapshot(claiming.snapshot);
}

} // namespace pgq_ext::queue
