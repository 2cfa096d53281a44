// The SQL functions that make queues, and pgq_enqueue: checks of the arguments, then src/queue.
#include "arguments.hpp"
#include "queue/enqueue.hpp"
#include "queue/queue_ddl.hpp"

namespace pgq_ext {

// text argument number n, not NULL, of 1 to limit bytes.
static Datum
NameArgument(FunctionCallInfo fcinfo, int n, const char *name, int limit)
{
	RequireNotNull(fcinfo, n, name);

	Datum value = TextArgument(fcinfo, n).value;
	int size = (int)VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	if (size < 1 || size > limit)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("argument \"%s\" must have 1 to %d bytes", name, limit)));
	return value;
}

// Arguments in the order of both functions: queue, max_attempts, lease, backoff, max_backoff.
static queue::QueueDefinition
QueueArguments(FunctionCallInfo fcinfo)
{
	queue::QueueDefinition definition;

	definition.queue = TextArgument(fcinfo, 0).value;
	for (int i = 0; i < queue::kQueueSettings; i++)
		definition.settings[i] = NullableArgument(fcinfo, i + 1);
	queue::CheckSettings(definition);
	return definition;
}

// Arguments in order: handler, args, serialization_key, queue, priority, run_at, idempotency_key.
static queue::EnqueueRequest
RequestArguments(FunctionCallInfo fcinfo)
{
	RequireNotNull(fcinfo, 0, "handler");
	RequireNotNull(fcinfo, 1, "args");
	RequireNotNull(fcinfo, 3, "queue");
	RequireNotNull(fcinfo, 4, "priority");

	queue::EnqueueRequest request;
	request.handler = NameArgument(fcinfo, 0, "handler", 255);
	request.args = PG_GETARG_DATUM(1);
	request.serialization_key = TextArgument(fcinfo, 2);
	request.queue = TextArgument(fcinfo, 3).value;
	request.priority = PG_GETARG_INT32(4);
	request.run_at = NullableArgument(fcinfo, 5);
	request.idempotency_key = TextArgument(fcinfo, 6);
	if (!request.run_at.isnull && TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(request.run_at.value)))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"run_at\" must be finite")));
	if (!request.idempotency_key.isnull)
		(void)NameArgument(fcinfo, 6, "idempotency_key", 1024);
	return request;
}

} // namespace pgq_ext

using namespace pgq_ext;

extern "C" {

PG_FUNCTION_INFO_V1(pgq_ext_create_queue);
PG_FUNCTION_INFO_V1(pgq_ext_alter_queue);
PG_FUNCTION_INFO_V1(pgq_ext_drop_queue);
PG_FUNCTION_INFO_V1(pgq_ext_enqueue);

PGDLLEXPORT Datum
pgq_ext_create_queue(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_create_queue()");

	RequireNotNull(fcinfo, 0, "queue");
	for (int i = 0; i < queue::kQueueSettings; i++)
		RequireNotNull(fcinfo, i + 1, queue::kQueueSettingNames[i]);
	(void)NameArgument(fcinfo, 0, "queue", 255);
	queue::CreateQueue(schema, QueueArguments(fcinfo));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_alter_queue(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_alter_queue()");

	RequireNotNull(fcinfo, 0, "queue");
	queue::AlterQueue(schema, QueueArguments(fcinfo));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_drop_queue(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_drop_queue()");

	RequireNotNull(fcinfo, 0, "queue");
	queue::DropQueue(schema, TextArgument(fcinfo, 0).value);
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_enqueue(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_enqueue()");

	PG_RETURN_INT64(queue::Enqueue(schema, RequestArguments(fcinfo)));
}

} // extern "C"
