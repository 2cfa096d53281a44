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

// One claim under way.
struct Claiming {
	const ClaimRequest *request;
	pg::Table jobs;
	Snapshot snapshot;
	TimestampTz lease_until;
	ClaimPlan plan;
	int32 claimed;
	Tuplestorestate *out;
	TupleDesc shape;
	MemoryContext per_row;
	Seen seen[2 * kMaxMarks]; // of the priorities that it came to, in order
	int nseen;
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

static void
ClaimHere(Claiming *claiming, const Job &job, bool passing)
{
	Seen *seen = SeenOf(claiming, job.priority);
	Found found = TryClaim(claiming, job);

	if (seen != nullptr)
		Note(seen, job, found, passing);
	else if (found == Found::Claimed)
		ForgetMarks(claiming->plan.marks);
}

// Claims what the scan keys find, in order. passing: they find all there is from some mark on, or from the start.
static void
ClaimRange(Claiming *claiming, ScanKey keys, int nkeys, bool passing)
{
	const pg::Table &jobs = claiming->jobs;
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_ready", claiming->snapshot, keys, nkeys);

	while (claiming->claimed < claiming->request->batch_size && scan.Next()) {
		MemoryContext old = MemoryContextSwitchTo(claiming->per_row);
		Job job = ReadJob(jobs.row);
		if (IsOfQueue(job, claiming->request->queue))
			ClaimHere(claiming, job, passing);
		MemoryContextSwitchTo(old);
		MemoryContextReset(claiming->per_row);
	}
	scan.End();
}

static void
SetKeys(const Claiming &claiming, ScanKey keys, StrategyNumber priority, int32 value, StrategyNumber position,
		int64 from)
{
	static const RegProcedure int4[] = {0, F_INT4LT, F_INT4LE, F_INT4EQ, F_INT4GE, F_INT4GT};
	static const RegProcedure int8[] = {0, F_INT8LT, F_INT8LE, F_INT8EQ, F_INT8GE, F_INT8GT};

	QueueIs(&keys[0], claiming.request->queue);
	ScanKeyInit(&keys[1], 2, priority, int4[priority], Int32GetDatum(value));
	ScanKeyInit(&keys[2], 3, position, int8[position], Int64GetDatum(from));
}

// Claims what was noted before the marks, up to this priority. Returns how many of plan.early have been looked at.
static int
ClaimEarly(Claiming *claiming, int looked, int32 priority)
{
	const ClaimPlan &plan = claiming->plan;
	ScanKeyData keys[3];

	while (looked < plan.nearly && plan.early[looked].priority <= priority &&
		   claiming->claimed < claiming->request->batch_size) {
		ReadyOrder order = plan.early[looked++];
		SetKeys(*claiming, keys, BTEqualStrategyNumber, order.priority, BTEqualStrategyNumber, order.position);
		ClaimRange(claiming, keys, 3, false);
	}
	return looked;
}

// Most urgent first: of each priority what was noted before its mark, then what is behind the mark; then all others.
static int
ClaimByMarks(Claiming *claiming)
{
	const ClaimPlan &plan = claiming->plan;
	ScanKeyData keys[3];
	int looked = 0;

	for (int i = 0; i < plan.nmarks; i++) {
		looked = ClaimEarly(claiming, looked, plan.at[i].priority);
		if (claiming->claimed == claiming->request->batch_size)
			return looked;
		SetKeys(*claiming, keys, BTEqualStrategyNumber, plan.at[i].priority, BTGreaterEqualStrategyNumber,
				plan.at[i].from);
		ClaimRange(claiming, keys, 3, true);
	}
	if (claiming->claimed == claiming->request->batch_size)
		return looked;
	bool any = plan.nmarks > 0;
	SetKeys(*claiming, keys, BTGreaterStrategyNumber, any ? plan.at[plan.nmarks - 1].priority : 0,
			BTGreaterEqualStrategyNumber, 0);
	ClaimRange(claiming, keys, any ? 2 : 1, true);
	return looked;
}

// From the start, whatever the marks say.
static void
ClaimFromStart(Claiming *claiming)
{
	ScanKeyData key;

	QueueIs(&key, claiming->request->queue);
	ClaimRange(claiming, &key, 1, true);
}

void
Claim(const ClaimRequest &request, const pg::Table &jobs, Tuplestorestate *out, TupleDesc shape)
{
	TimestampTz now = GetCurrentTimestamp();
	Claiming claiming = {};

	claiming.request = &request;
	claiming.out = out;
	claiming.shape = shape;
	claiming.jobs = jobs;
	PlanClaim(FindReadyMarks(RelationGetRelid(claiming.jobs.relation), request.queue), now, &claiming.plan);
	AddReadyNotes(&claiming.plan);
	claiming.snapshot = pg::FreshSnapshot();
	RequireWork(request.limits, claiming.snapshot, request.queue);
	QueueSettings settings = RequireQueue(request.schema, claiming.snapshot, request.queue);
	claiming.lease_until = Later(now, request.lease != nullptr ? *request.lease : settings.lease);
	claiming.per_row = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext claim", ALLOCSET_DEFAULT_SIZES);

	int looked = 0;
	if (claiming.plan.full)
		ClaimFromStart(&claiming);
	else
		looked = ClaimByMarks(&claiming);
	RaiseMarks(claiming.plan, looked, claiming.seen, claiming.nseen, GetCurrentTimestamp() - now);
	pg::FaultPoint("after_claim");
	if (claiming.claimed > 0)
		NoteDue(claiming.lease_until);
	UnregisterSnapshot(claiming.snapshot);
}

} // namespace pgq_ext::queue
