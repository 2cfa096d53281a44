// Cancelling and retrying: see operations.hpp.
#include "queue/operations.hpp"

#include "queue/archive.hpp"
#include "queue/handler_checks.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "commands/sequence.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

void
StartRequest(const pg::Table &requests, RequestKind kind, int64 job_id)
{
	using namespace request_column;
	Oid ids = getIdentitySequence(RelationGetRelid(requests.relation), kRequestId, false);

	pg::StartRow(requests);
	pg::Set(requests, kRequestId, Int64GetDatum(nextval_internal(ids, false)));
	pg::Set(requests, kJobId, Int64GetDatum(job_id));
	pg::Set(requests, kCreatedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
	pg::Set(requests, kPriority, Int32GetDatum(0));
	pg::Set(requests, kKind, LetterDatum(kind));
}

static void
InsertRequest(const pg::Table &requests, RequestKind kind, int64 job_id)
{
	StartRequest(requests, kind, job_id);
	pg::Insert(requests);
}

void
Ask(Oid schema, RequestKind kind, int64 id)
{
	pg::Table requests = pg::Open(schema, "pgq_request");

	InsertRequest(requests, kind, id);
	pg::Close(&requests);
}

// Whether the job is going to be made live by a request.
static bool
HasOpenRequest(const pg::Table &requests, Snapshot snapshot, int64 job_id)
{
	ScanKeyData key;
	bool open = false;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(job_id));
	pg::Scan scan = pg::BeginScan(requests, "pgq_request_job_id", snapshot, &key, 1);
	while (!open && scan.Next()) {
		bool isnull;
		auto kind = static_cast<RequestKind>(DatumGetChar(pg::Get(requests.row, request_column::kKind, &isnull)));
		open = kind == RequestKind::Enqueue || kind == RequestKind::Retry;
	}
	scan.End();
	return open;
}

// Cancels the job if it is live, waiting for its row. Changed: it left meanwhile; look again.
static pg::Outcome
CancelLive(const JobTables &tables, Snapshot snapshot, bool *live)
{
	const pg::Table &jobs = tables.jobs;
	ItemPointerData tid = jobs.row->tts_tid;
	pg::Outcome outcome = pg::Lock(jobs, &tid, snapshot, LockTupleExclusive, pg::Wait::Yes);

	if (outcome != pg::Outcome::Done)
		return outcome;
	*live = true;
	Job job = ReadJob(jobs.row);
	return Leave(tables, snapshot, job, Ending{Status::Cancelled, job.failures, kNone, kNone});
}

// Cancels the job if it is held in a copied database.
static pg::Outcome
CancelHeld(const pg::Table &archive, Snapshot snapshot, int64 job_id, bool *cancelled)
{
	using namespace archive_column;
	Status status;

	if (!FindArchived(archive, snapshot, job_id, &status) || status != Status::Held)
		return pg::Outcome::Done;
	ItemPointerData tid = archive.row->tts_tid;
	pg::StartChange(archive);
	pg::Set(archive, kStatus, LetterDatum(Status::Cancelled));
	pg::Set(archive, kFinishedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
	pg::Outcome outcome = pg::Update(archive, &tid, snapshot);
	*cancelled = outcome == pg::Outcome::Done;
	return outcome;
}

// One look, in one snapshot: a job on its way from request to live table to archive is never
// missed.
static pg::Outcome
TryCancel(const JobTables &tables, const pg::Table &requests, int64 job_id, bool *cancelled)
{
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Outcome outcome = pg::Outcome::Done;

	*cancelled = false;
	if (pg::FindByInt64(tables.jobs, "pgq_job_pkey", snapshot, job_id))
		outcome = CancelLive(tables, snapshot, cancelled);
	else if (HasOpenRequest(requests, snapshot, job_id)) {
		InsertRequest(requests, RequestKind::Cancel, job_id);
		*cancelled = true;
	} else
		outcome = CancelHeld(tables.archive, snapshot, job_id, cancelled);
	UnregisterSnapshot(snapshot);
	return outcome;
}

bool
Cancel(Oid schema, int64 job_id)
{
	JobTables tables = OpenJobTables(schema);
	pg::Table requests = pg::Open(schema, "pgq_request");
	bool cancelled;

	while (TryCancel(tables, requests, job_id, &cancelled) != pg::Outcome::Done)
		CHECK_FOR_INTERRUPTS();
	pg::Close(&requests);
	CloseJobTables(&tables);
	return cancelled;
}

// Finds a job that can be made live again: a dead letter, or one that is held in a copied database.
static bool
FindDeadLetter(const pg::Table &archive, Snapshot snapshot, int64 job_id, Status *status)
{
	return FindArchived(archive, snapshot, job_id, status) && (*status == Status::Failed || *status == Status::Held);
}

// The request names the queue, which must not be dropped before the job is back in it.
static void
AskForRetry(Oid schema, int64 job_id, const char *queue)
{
	LockQueue(schema, queue);
	pg::Table requests = pg::Open(schema, "pgq_request");
	StartRequest(requests, RequestKind::Retry, job_id);
	pg::Set(requests, request_column::kQueue, CStringGetTextDatum(queue));
	pg::Insert(requests);
	pg::Close(&requests);
}

bool
Retry(Oid schema, int64 job_id)
{
	pg::Table archive = pg::Open(schema, "pgq_archive");
	Snapshot snapshot = pg::FreshSnapshot();
	Status status;
	bool dead = FindDeadLetter(archive, snapshot, job_id, &status);

	bool isnull;
	const char *queue = dead ? TextDatumGetCString(pg::Get(archive.row, archive_column::kQueue, &isnull)) : nullptr;

	UnregisterSnapshot(snapshot);
	pg::Close(&archive);
	if (dead)
		AskForRetry(schema, job_id, queue);
	return dead;
}

// A dead letter's failures are forgotten.
static NewJob
JobOfDeadLetter(TupleTableSlot *row, Status status, int64 position)
{
	using namespace archive_column;
	auto nullable = [row](int column) {
		NullableDatum value;
		value.value = pg::Get(row, column, &value.isnull);
		return value;
	};
	NewJob job = {};

	job.job_id = DatumGetInt64(nullable(kJobId).value);
	job.position = position;
	job.created_at = DatumGetTimestampTz(nullable(kCreatedAt).value);
	job.priority = DatumGetInt32(nullable(kPriority).value);
	job.attempt = DatumGetInt32(nullable(kAttempt).value);
	job.failures = status == Status::Held ? DatumGetInt32(nullable(kFailures).value) : 0;
	job.queue = nullable(kQueue).value;
	job.handler = nullable(kHandler).value;
	job.key = nullable(kKey);
	job.last_error = nullable(kLastError);
	job.args = nullable(kArgs);
	return job;
}

// A held job that was scheduled still is; it never had a position.
static void
AppendAgain(Appender *appender, TupleTableSlot *row, Status status, int64 position)
{
	using namespace archive_column;
	NewJob job = JobOfDeadLetter(row, status, position);
	bool isnull, unplaced;

	job.visible_at = DatumGetTimestampTz(pg::Get(row, kVisibleAt, &isnull));
	(void)pg::Get(row, kPosition, &unplaced);
	if (status == Status::Held && unplaced && job.visible_at > GetCurrentTimestamp())
		AppendScheduled(appender, job);
	else
		Append(appender, job);
}

bool
AppendRetried(Appender *appender, Oid schema, int64 job_id, int64 position)
{
	pg::Table archive = pg::Open(schema, "pgq_archive");
	Snapshot snapshot = pg::FreshSnapshot();
	bool taken = false;
	Status status;

	if (FindDeadLetter(archive, snapshot, job_id, &status)) {
		ItemPointerData tid = archive.row->tts_tid;
		taken = pg::Delete(archive, &tid, snapshot, pg::Wait::No) == pg::Outcome::Done;
	}
	if (taken)
		AppendAgain(appender, archive.row, status, position);
	UnregisterSnapshot(snapshot);
	pg::Close(&archive);
	return taken;
}

int64
HoldJobs(Oid schema)
{
	Oid function = LookupFuncName(
		list_make2(makeString(get_namespace_name(schema)), makeString(pstrdup("pgq_hold_jobs"))), 0, nullptr, false);

	return DatumGetInt64(OidFunctionCall0(function));
}

static Cancelled
TryCancelNow(const JobTables &tables, Snapshot snapshot, int64 job_id)
{
	if (!pg::FindByInt64(tables.jobs, "pgq_job_pkey", snapshot, job_id))
		return Cancelled::Gone;

	Job job = ReadJob(tables.jobs.row);
	Ending ending = {Status::Cancelled, job.failures, kNone, kNone};
	return LeaveNoWait(tables, snapshot, job.tid, ending) == pg::Outcome::Done ? Cancelled::Done : Cancelled::Busy;
}

Cancelled
CancelNow(Appender *appender, Oid schema, int64 job_id)
{
	InsertAppended(appender);
	JobTables tables = OpenJobTables(schema);
	Snapshot snapshot = pg::FreshSnapshot();
	Cancelled cancelled = TryCancelNow(tables, snapshot, job_id);

	UnregisterSnapshot(snapshot);
	CloseJobTables(&tables);
	if (cancelled == Cancelled::Done)
		ForgetAppended(appender);
	return cancelled;
}

} // namespace pgq_ext::queue
