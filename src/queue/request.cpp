// Doing what callers asked for: see request.hpp.
#include "queue/request.hpp"

#include "queue/operations.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

using namespace request_column;

static NullableDatum
Column(TupleTableSlot *row, int column)
{
	NullableDatum value;

	value.value = pg::Get(row, column, &value.isnull);
	return value;
}

// Removes the request's row; false when it is not there any more. Nobody locks requests, but for who does it by hand: he
// is waited for, since the stream does not come back to what it has passed.
static bool
TakeRequest(const pg::Table &requests, int64 request_id)
{
	Snapshot snapshot = pg::FreshSnapshot();
	bool taken = pg::FindByInt64(requests, "pgq_request_pkey", snapshot, request_id) &&
				 pg::Delete(requests, &requests.row->tts_tid, snapshot, pg::Wait::Yes) == pg::Outcome::Done;

	UnregisterSnapshot(snapshot);
	return taken;
}

// Marks the request as one that the stream has passed but that is still to be done: its run_at is set.
static void
Postpone(const pg::Table &requests, int64 request_id)
{
	Snapshot snapshot = pg::FreshSnapshot();

	if (pg::FindByInt64(requests, "pgq_request_pkey", snapshot, request_id)) {
		pg::StartChange(requests);
		pg::Set(requests, kRunAt, TimestampTzGetDatum(GetCurrentTimestamp()));
		(void)pg::Update(requests, &requests.row->tts_tid, snapshot);
	}
	UnregisterSnapshot(snapshot);
}

static RequestResult
AddJob(Appender *appender, TupleTableSlot *row, int64 *next_position)
{
	NullableDatum run_at = Column(row, kRunAt);
	TimestampTz now = GetCurrentTimestamp();
	NewJob job = {};

	job.job_id = DatumGetInt64(Column(row, kJobId).value);
	job.created_at = DatumGetTimestampTz(Column(row, kCreatedAt).value);
	job.priority = DatumGetInt32(Column(row, kPriority).value);
	job.queue = Column(row, kQueue).value;
	job.handler = Column(row, kHandler).value;
	job.key = Column(row, kKey);
	job.args = Column(row, kArgs);
	job.last_error.isnull = true;
	if (!run_at.isnull && DatumGetTimestampTz(run_at.value) > now) {
		job.visible_at = DatumGetTimestampTz(run_at.value);
		AppendScheduled(appender, job);
	} else {
		job.position = (*next_position)++;
		Append(appender, job);
	}
	return RequestResult::Added;
}

static RequestResult
DoCancel(Appender *appender, Oid schema, const pg::Table &requests, int64 request_id, int64 job_id)
{
	if (CancelNow(appender, schema, job_id) == Cancelled::Busy) {
		Postpone(requests, request_id);
		return RequestResult::Postponed;
	}
	(void)TakeRequest(requests, request_id);
	return RequestResult::Done;
}

static RequestResult
DoRetry(Appender *appender, Oid schema, int64 job_id, int64 *next_position)
{
	if (!AppendRetried(appender, schema, job_id, *next_position))
		return RequestResult::Done;
	(*next_position)++;
	return RequestResult::Added;
}

// Does what adds to the live jobs; its request is taken already.
static RequestResult
Do(RequestKind kind, Appender *appender, Oid schema, TupleTableSlot *row, int64 *next_position)
{
	switch (kind) {
	case RequestKind::Enqueue:
		return AddJob(appender, row, next_position);
	case RequestKind::Retry:
		return DoRetry(appender, schema, DatumGetInt64(Column(row, kJobId).value), next_position);
	case RequestKind::RetryEvent:
		return RequestResult::Event;
	case RequestKind::Cancel:
		break;
	}
	return RequestResult::Done;
}

RequestResult
DoRequest(Appender *appender, Oid schema, TupleTableSlot *row, int64 *next_position, int64 *event_error)
{
	int64 request_id = DatumGetInt64(Column(row, kRequestId).value);
	int64 job_id = DatumGetInt64(Column(row, kJobId).value);
	auto kind = static_cast<RequestKind>(DatumGetChar(Column(row, kKind).value));
	pg::Table requests = pg::Open(schema, "pgq_request");
	RequestResult result = RequestResult::Done;

	*event_error = job_id;
	if (kind == RequestKind::Cancel)
		result = DoCancel(appender, schema, requests, request_id, job_id);
	else if (TakeRequest(requests, request_id))
		result = Do(kind, appender, schema, row, next_position);
	pg::Close(&requests);
	return result;
}

int
DoPostponed(Appender *appender, Oid schema)
{
	pg::Table requests = pg::Open(schema, "pgq_request");
	Snapshot snapshot = pg::FreshSnapshot();
	ScanKeyData all;
	int left = 0;

	ScanKeyInit(&all, 1, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(PG_INT64_MIN));
	pg::Scan scan = pg::BeginScan(requests, "pgq_request_pkey", snapshot, &all, 1);
	while (scan.Next()) {
		auto kind = static_cast<RequestKind>(DatumGetChar(Column(requests.row, kKind).value));
		if (kind != RequestKind::Cancel || Column(requests.row, kRunAt).isnull)
			continue;
		if (CancelNow(appender, schema, DatumGetInt64(Column(requests.row, kJobId).value)) == Cancelled::Busy)
			left++;
		else
			(void)pg::Delete(requests, &requests.row->tts_tid, snapshot, pg::Wait::No);
	}
	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&requests);
	return left;
}

} // namespace pgq_ext::queue
