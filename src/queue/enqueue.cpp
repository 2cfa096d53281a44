// Jobs that have no event: see enqueue.hpp.
#include "queue/enqueue.hpp"

#include "queue/handler_checks.hpp"
#include "queue/operations.hpp"

extern "C" {
#include "commands/sequence.h"
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

// Columns of pgq_idempotency.
enum {
	kKeyQueue = 1,
	kIdempotencyKey,
	kKeyJobId,
};

static bool
FindJobOf(const pg::Table &keys, const EnqueueRequest &request, int64 *job_id)
{
	Snapshot snapshot = pg::FreshSnapshot();
	ScanKeyData key[2];
	bool isnull;

	ScanKeyInit(&key[0], 1, BTEqualStrategyNumber, F_TEXTEQ, request.queue);
	ScanKeyInit(&key[1], 2, BTEqualStrategyNumber, F_TEXTEQ, request.idempotency_key.value);
	pg::Scan scan = pg::BeginScan(keys, "pgq_idempotency_pkey", snapshot, key, 2);
	bool found = scan.Next();
	if (found)
		*job_id = DatumGetInt64(pg::Get(keys.row, kKeyJobId, &isnull));
	scan.End();
	UnregisterSnapshot(snapshot);
	return found;
}

// The job that has the idempotency key: new_job, unless another one has it already.
static int64
HolderOfKey(Oid schema, const EnqueueRequest &request, int64 new_job)
{
	pg::Table keys = pg::Open(schema, "pgq_idempotency");
	int64 holder = new_job;

	pg::StartRow(keys);
	pg::Set(keys, kKeyQueue, request.queue);
	pg::Set(keys, kIdempotencyKey, request.idempotency_key.value);
	pg::Set(keys, kKeyJobId, Int64GetDatum(new_job));
	// A key that is there, and then is not, has been forgotten between the two looks.
	while (!pg::InsertIfNew(keys) && !FindJobOf(keys, request, &holder))
		CHECK_FOR_INTERRUPTS();
	pg::Close(&keys);
	return holder;
}

static void
SetNullable(const pg::Table &table, int column, NullableDatum value)
{
	if (!value.isnull)
		pg::Set(table, column, value.value);
}

static void
AskForJob(Oid schema, const EnqueueRequest &request, int64 job_id)
{
	using namespace request_column;
	pg::Table requests = pg::Open(schema, "pgq_request");

	StartRequest(requests, RequestKind::Enqueue, job_id);
	SetNullable(requests, kRunAt, request.run_at);
	pg::Set(requests, kPriority, Int32GetDatum(request.priority));
	pg::Set(requests, kQueue, request.queue);
	pg::Set(requests, kHandler, request.handler);
	SetNullable(requests, kKey, request.serialization_key);
	pg::Set(requests, kArgs, request.args);
	pg::Insert(requests);
	pg::Close(&requests);
}

int64
Enqueue(Oid schema, const EnqueueRequest &request)
{
	LockQueue(schema, TextDatumGetCString(request.queue));

	int64 new_job = nextval_internal(pg::RelationNamed(schema, "pgq_job_id_seq"), false);
	int64 job = request.idempotency_key.isnull ? new_job : HolderOfKey(schema, request, new_job);
	if (job == new_job)
		AskForJob(schema, request, new_job);
	return job;
}

} // namespace pgq_ext::queue
