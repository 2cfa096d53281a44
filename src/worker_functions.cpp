// What workers and operators call from SQL: checks of the arguments, then src/queue. See sql/api
// for what each does.
#include "arguments.hpp"
#include "process/shared.hpp"
#include "queue/claim.hpp"
#include "queue/finish.hpp"
#include "queue/lease.hpp"
#include "queue/operations.hpp"
#include "queue/progress.hpp"
#include "queue/timer.hpp"

extern "C" {
#include "catalog/pg_type_d.h"
#include "utils/array.h"
}

namespace pgq_ext {

// Without an enqueuer, each dequeue moves up to so many due jobs itself.
constexpr int kTimersPerDequeue = 100;

static const queue::Limits *
LimitsOfCaller(FunctionCallInfo fcinfo, Oid schema)
{
	return queue::LimitsOf(fcinfo->flinfo->fn_oid, schema);
}

static queue::HandOut
HandOutArguments(FunctionCallInfo fcinfo, Oid schema)
{
	RequireNotNull(fcinfo, 0, "job_id");
	RequireNotNull(fcinfo, 1, "attempt");
	return queue::HandOut{PG_GETARG_INT64(0), PG_GETARG_INT32(1), LimitsOfCaller(fcinfo, schema)};
}

// The arguments of a claim, the first of which is number n.
static queue::ClaimRequest
ClaimArguments(FunctionCallInfo fcinfo, Oid schema, int n)
{
	RequireNotNull(fcinfo, n, "batch_size");
	RequireNotNull(fcinfo, n + 1, "queue");
	if (PG_GETARG_INT32(n) <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"batch_size\" must be positive")));
	return queue::ClaimRequest{schema,
							   TextArgument(fcinfo, n + 1).value,
							   PG_GETARG_INT32(n),
							   SpanArgument(fcinfo, n + 2, "lease"),
							   TextArgument(fcinfo, n + 3),
							   LimitsOfCaller(fcinfo, schema)};
}

// An array argument without NULLs and of one dimension, as its elements.
static Datum *
ElementsArgument(FunctionCallInfo fcinfo, int n, const char *name, Oid type, int16 length, int *count)
{
	RequireNotNull(fcinfo, n, name);

	ArrayType *array = PG_GETARG_ARRAYTYPE_P(n);
	Datum *elements;
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("argument \"%s\" must be one-dimensional", name)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("argument \"%s\" must not contain nulls", name)));
	deconstruct_array(array, type, length, true, length == 8 ? TYPALIGN_DOUBLE : TYPALIGN_INT, &elements, nullptr,
					  count);
	return elements;
}

// The first two arguments, arrays of those names.
static queue::HandOut *
HandOutArrays(FunctionCallInfo fcinfo, Oid schema, const char *ids_name, const char *attempts_name, int *n)
{
	const queue::Limits *limits = LimitsOfCaller(fcinfo, schema);
	int attempts;
	Datum *job_ids = ElementsArgument(fcinfo, 0, ids_name, INT8OID, 8, n);
	Datum *numbers = ElementsArgument(fcinfo, 1, attempts_name, INT4OID, 4, &attempts);

	if (*n != attempts)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("arguments \"%s\" and \"%s\" must have the same length", ids_name, attempts_name),
						errdetail("They have %d and %d elements.", *n, attempts)));

	auto *hand_outs = static_cast<queue::HandOut *>(palloc(sizeof(queue::HandOut) * Max(*n, 1)));
	for (int i = 0; i < *n; i++)
		hand_outs[i] = queue::HandOut{DatumGetInt64(job_ids[i]), DatumGetInt32(numbers[i]), limits};
	return hand_outs;
}

// Claims, after the timers where there is no enqueuer. In a copied database that has had none yet, all jobs are still the
// original's.
static void
HandOutJobs(FunctionCallInfo fcinfo, const queue::ClaimRequest &request, const pg::Table &jobs)
{
	auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);

	if (!process::EnqueuerAlive()) {
		if (!queue::ReadProgress(request.schema).same_cluster)
			return;
		queue::RunTimersForWorker(request.schema, kTimersPerDequeue);
	}
	queue::Claim(request, jobs, result->setResult, result->setDesc);
}

} // namespace pgq_ext

using namespace pgq_ext;

extern "C" {

PG_FUNCTION_INFO_V1(pgq_ext_dequeue);
PG_FUNCTION_INFO_V1(pgq_ext_next);
PG_FUNCTION_INFO_V1(pgq_ext_complete);
PG_FUNCTION_INFO_V1(pgq_ext_complete_all);
PG_FUNCTION_INFO_V1(pgq_ext_fail);
PG_FUNCTION_INFO_V1(pgq_ext_extend);
PG_FUNCTION_INFO_V1(pgq_ext_release);
PG_FUNCTION_INFO_V1(pgq_ext_cancel);
PG_FUNCTION_INFO_V1(pgq_ext_retry);

PGDLLEXPORT Datum
pgq_ext_dequeue(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_dequeue()");
	queue::ClaimRequest request = ClaimArguments(fcinfo, schema, 0);
	pg::Table jobs = pg::Open(schema, "pgq_job");

	InitMaterializedSRF(fcinfo, 0);
	HandOutJobs(fcinfo, request, jobs);
	pg::Close(&jobs);
	return (Datum)0;
}

PGDLLEXPORT Datum
pgq_ext_next(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_next()");
	queue::ClaimRequest request = ClaimArguments(fcinfo, schema, 2);
	queue::JobTables tables = queue::OpenJobTables(schema);

	if (!PG_ARGISNULL(0) || !PG_ARGISNULL(1)) {
		int n;
		queue::HandOut *done = HandOutArrays(fcinfo, schema, "done_ids", "done_attempts", &n);
		auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * Max(n, 1)));
		(void)queue::CompleteAll(tables, done, n, ids);
	}
	InitMaterializedSRF(fcinfo, 0);
	HandOutJobs(fcinfo, request, tables.jobs);
	queue::CloseJobTables(&tables);
	return (Datum)0;
}

PGDLLEXPORT Datum
pgq_ext_complete(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_complete()");

	PG_RETURN_BOOL(queue::Complete(schema, HandOutArguments(fcinfo, schema), NullableArgument(fcinfo, 2)));
}

PGDLLEXPORT Datum
pgq_ext_complete_all(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_complete()");
	int n;
	queue::HandOut *hand_outs = HandOutArrays(fcinfo, schema, "job_ids", "attempts", &n);
	auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * Max(n, 1)));

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	queue::JobTables tables = queue::OpenJobTables(schema);
	int completed = queue::CompleteAll(tables, hand_outs, n, ids);
	queue::CloseJobTables(&tables);

	auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	for (int i = 0; i < completed; i++) {
		Datum id = Int64GetDatum(ids[i]);
		bool isnull = false;
		tuplestore_putvalues(result->setResult, result->setDesc, &id, &isnull);
	}
	return (Datum)0;
}

PGDLLEXPORT Datum
pgq_ext_fail(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_fail()");
	queue::HandOut hand_out = HandOutArguments(fcinfo, schema);

	RequireNotNull(fcinfo, 2, "error");
	PG_RETURN_BOOL(queue::Fail(schema, hand_out, PG_GETARG_DATUM(2), SpanArgument(fcinfo, 3, "retry_in")));
}

PGDLLEXPORT Datum
pgq_ext_extend(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_extend()");
	queue::HandOut hand_out = HandOutArguments(fcinfo, schema);

	PG_RETURN_TIMESTAMPTZ(queue::Extend(schema, hand_out, SpanArgument(fcinfo, 2, "lease")));
}

PGDLLEXPORT Datum
pgq_ext_release(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_release()");
	queue::HandOut hand_out = HandOutArguments(fcinfo, schema);

	queue::Release(schema, hand_out, SpanArgument(fcinfo, 2, "run_in"));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_cancel(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_cancel()");

	RequireNotNull(fcinfo, 0, "job_id");
	PG_RETURN_BOOL(queue::Cancel(schema, PG_GETARG_INT64(0)));
}

PGDLLEXPORT Datum
pgq_ext_retry(PG_FUNCTION_ARGS)
{
	Oid schema = StartWriting(fcinfo, "pgq_retry()");

	RequireNotNull(fcinfo, 0, "job_id");
	PG_RETURN_BOOL(queue::Retry(schema, PG_GETARG_INT64(0)));
}

} // extern "C"
