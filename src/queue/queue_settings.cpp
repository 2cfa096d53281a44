// Settings of a queue: see queue_settings.hpp.
#include "queue/queue_settings.hpp"

#include "pg/table.hpp"
#include "queue/job.hpp"

extern "C" {
#include "access/table.h"
#include "common/int.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
}

namespace pgq_ext::queue {

// As pgq_create_queue has them.
static QueueSettings
Defaults()
{
	return QueueSettings{5, Interval{30 * USECS_PER_SEC, 0, 0}, Interval{1 * USECS_PER_SEC, 0, 0},
						 Interval{5 * USECS_PER_MINUTE, 0, 0}};
}

static QueueSettings
ReadSettings(HeapTuple row, TupleDesc shape)
{
	auto column = [&](int number) {
		bool isnull;
		return heap_getattr(row, number, shape, &isnull);
	};

	return QueueSettings{
		DatumGetInt32(column(queue_column::kMaxAttempts)), *DatumGetIntervalP(column(queue_column::kLease)),
		*DatumGetIntervalP(column(queue_column::kBackoff)), *DatumGetIntervalP(column(queue_column::kMaxBackoff))};
}

// Lighter than pg::Open: a table that is only read needs no executor state.
static bool
FindSettings(Oid schema, Snapshot snapshot, Datum name, QueueSettings *settings)
{
	Relation queues = table_open(pg::RelationNamed(schema, "pgq_queue"), AccessShareLock);
	ScanKeyData key;

	ScanKeyInit(&key, queue_column::kQueue, BTEqualStrategyNumber, F_TEXTEQ, name);
	SysScanDesc scan = systable_beginscan(queues, pg::RelationNamed(schema, "pgq_queue_pkey"), true, snapshot, 1, &key);
	HeapTuple row = systable_getnext(scan);
	bool found = HeapTupleIsValid(row);
	if (found)
		*settings = ReadSettings(row, RelationGetDescr(queues));
	systable_endscan(scan);
	table_close(queues, NoLock);
	return found;
}

List *
AllQueues(Oid schema, Snapshot snapshot)
{
	Relation queues = table_open(pg::RelationNamed(schema, "pgq_queue"), AccessShareLock);
	SysScanDesc scan = systable_beginscan(queues, InvalidOid, false, snapshot, 0, nullptr);
	HeapTuple row;
	List *names = NIL;

	while (HeapTupleIsValid(row = systable_getnext(scan))) {
		bool isnull;
		Datum name = heap_getattr(row, queue_column::kQueue, RelationGetDescr(queues), &isnull);
		names = lappend(names, DatumGetTextPCopy(name));
	}
	systable_endscan(scan);
	table_close(queues, NoLock);
	return names;
}

QueueSettings
RequireQueue(Oid schema, Snapshot snapshot, Datum name)
{
	QueueSettings settings;

	if (!FindSettings(schema, snapshot, name, &settings))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", TextDatumGetCString(name))));
	return settings;
}

QueueSettings
SettingsOfJob(Oid schema, Snapshot snapshot, Datum name)
{
	QueueSettings settings;

	return FindSettings(schema, snapshot, name, &settings) ? settings : Defaults();
}

TimestampTz
Later(TimestampTz time, const Interval &span)
{
	Interval copy = span;

	return DatumGetTimestampTz(
		DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(time), IntervalPGetDatum(&copy)));
}

int64
Microseconds(const Interval &span)
{
	int64 days = static_cast<int64>(span.month) * DAYS_PER_MONTH + span.day;
	int64 total;

	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &total) || pg_add_s64_overflow(total, span.time, &total))
		return PG_INT64_MAX;
	return total;
}

} // namespace pgq_ext::queue
