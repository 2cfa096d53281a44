// Handing jobs to workers: see claim.hpp.
#include "queue/claim.hpp"

#include "pg/fault.hpp"
#include "queue/due.hpp"
#include "queue/keys.hpp"
#include "queue/queue_settings.hpp"

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

// Ready jobs of a queue in the order in which they are to be claimed. The rows go to jobs.row.
static pg::Scan
ScanReady(const pg::Table &jobs, Snapshot snapshot, Datum queue)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ, queue);
	return pg::BeginScan(jobs, "pgq_job_ready", snapshot, &key, 1);
}

// Makes jobs.changed the claimed version of job, which is in jobs.row. A job still held is one
// whose lease ran out.
static void
StartClaim(const pg::Table &jobs, const Job &job, TimestampTz lease_until, NullableDatum worker)
{
	using namespace column;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kAttempt, Int32GetDatum(job.attempt + 1));
	pg::Set(jobs, kFailures, Int32GetDatum(job.failures + (job.held ? 1 : 0)));
	pg::Set(jobs, kState, LetterDatum(State::Leased));
	pg::Set(jobs, kHeld, BoolGetDatum(true));
	pg::Set(jobs, kVerified, BoolGetDatum(true));
	pg::Set(jobs, kVisibleAt, TimestampTzGetDatum(lease_until));
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
		column::kJobId,    column::kAttempt, column::kHandler,   column::kKey,
		column::kPriority, column::kArgs,    column::kVisibleAt, column::kCreatedAt,
	};
	Datum values[kResultColumns];
	bool nulls[kResultColumns];

	for (int i = 0; i < kResultColumns; i++) {
		values[i] = jobs.changed->tts_values[kSource[i] - 1];
		nulls[i] = jobs.changed->tts_isnull[kSource[i] - 1];
	}
	tuplestore_putvalues(out, shape, values, nulls);
}

// Claims the job in jobs.row, unless it must wait for an earlier one (rule 6 of keys.hpp) or
// somebody else has it.
static bool
TryClaim(const pg::Table &jobs, Snapshot snapshot, TimestampTz lease_until, NullableDatum worker)
{
	Job job = ReadJob(jobs.row);

	if (!job.verified && HasEarlier(jobs, snapshot, job.key, job.position))
		return false;
	StartClaim(jobs, job, lease_until, worker);
	return pg::UpdateNoWait(jobs, &job.tid, snapshot) == pg::Outcome::Done;
}

void
Claim(const ClaimRequest &request, Tuplestorestate *out, TupleDesc shape)
{
	Snapshot snapshot = pg::FreshSnapshot();
	RequireWork(request.limits, snapshot, request.queue);
	QueueSettings settings = RequireQueue(request.schema, snapshot, request.queue);
	TimestampTz lease_until =
		Later(GetCurrentTimestamp(), request.lease != nullptr ? *request.lease : settings.lease);
	pg::Table jobs = pg::Open(request.schema, "pgq_job");
	MemoryContext per_row =
		AllocSetContextCreate(CurrentMemoryContext, "pgq_ext claim", ALLOCSET_DEFAULT_SIZES);
	pg::Scan scan = ScanReady(jobs, snapshot, request.queue);
	int32 claimed = 0;

	while (claimed < request.batch_size && scan.Next()) {
		MemoryContext old = MemoryContextSwitchTo(per_row);
		if (TryClaim(jobs, snapshot, lease_until, request.worker)) {
			Emit(jobs, out, shape);
			claimed++;
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_row);
	}
	pg::FaultPoint("after_claim");
	if (claimed > 0)
		NoteDue(lease_until);
	scan.End();
	pg::Close(&jobs);
	UnregisterSnapshot(snapshot);
}

} // namespace pgq_ext::queue
