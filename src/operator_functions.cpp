// SQL-callable functions about the enqueuer: pgq_sync, what the view pgq_enqueuer shows, and what
// the install script calls.
#include "pg/postgres.hpp"

#include "process/report.hpp"
#include "process/shared.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "replication/message.h"
#include "utils/pg_lsn.h"

PG_FUNCTION_INFO_V1(pgq_ext_announce);
PG_FUNCTION_INFO_V1(pgq_ext_sync);
PG_FUNCTION_INFO_V1(pgq_ext_enqueuer_status);
}

namespace pgq_ext {

// A month counts 30 days. Longer than a century is as good as a century.
static long
TimeoutMilliseconds(const Interval *timeout)
{
	constexpr double kDay = SECS_PER_DAY * 1000.0, kCentury = 36525 * kDay;
	double milliseconds =
		((double)timeout->month * DAYS_PER_MONTH + timeout->day) * kDay + (double)timeout->time / 1000;

	if (milliseconds <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"timeout\" must be positive")));
	return (long)Max(Min(milliseconds, kCentury), 1.0);
}

// A row of pgq_enqueuer_status(), filled in the order of its columns.
struct Row {
	Datum values[12];
	bool nulls[12];
	int n = 0;

	void Add(Datum value, bool present);
	void
	AddText(const char *text)
	{
		Add(CStringGetTextDatum(text), text[0] != '\0');
	}
	void
	AddTime(TimestampTz time)
	{
		Add(TimestampTzGetDatum(time), time != 0);
	}
	void AddMicroseconds(uint64 microseconds);
};

void
Row::Add(Datum value, bool present)
{
	Assert(n < (int)lengthof(values));
	values[n] = value;
	nulls[n++] = !present;
}

void
Row::AddMicroseconds(uint64 microseconds)
{
	Interval *interval = (Interval *)palloc0(sizeof(Interval));

	interval->time = (TimeOffset)microseconds;
	Add(IntervalPGetDatum(interval), microseconds != 0);
}

static void
Fill(Row *row, const process::Report &report)
{
	row->Add(Int32GetDatum(report.pid), report.pid != 0);
	row->AddText(report.state);
	row->AddText(report.slot_name);
	row->Add(LSNGetDatum(report.last_lsn), !XLogRecPtrIsInvalid(report.last_lsn));
	row->AddTime(report.last_converted_at);
	row->AddText(report.last_error);
	row->AddTime(report.last_error_at);
	row->Add(Int64GetDatum((int64)report.events), true);
	row->Add(Int64GetDatum((int64)report.jobs), true);
	row->Add(Int64GetDatum((int64)report.errors), true);
	row->AddMicroseconds(process::LatencyQuantile(report.latency, 0.5));
	row->AddMicroseconds(process::LatencyQuantile(report.latency, 0.99));
}

} // namespace pgq_ext

extern "C" {

// The last thing that CREATE EXTENSION does.
PGDLLEXPORT Datum
pgq_ext_announce(FunctionCallInfo)
{
	const char *missing = pgq_ext::process::MissingPrecondition();

	if (missing != nullptr)
		ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						  errmsg("no enqueuer can run in this database, so events will not become jobs"),
						  errhint("%s", missing)));
	pgq_ext::process::AnnounceAtCommit();
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_sync(PG_FUNCTION_ARGS)
{
	PreventCommandDuringRecovery("pgq_sync()");
	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("argument \"timeout\" must not be null")));
	long timeout = pgq_ext::TimeoutMilliseconds(PG_GETARG_INTERVAL_P(0));

	// A mark in the WAL behind every commit before this call, also of those that are not flushed
	// yet. An LSN read from the server's counters would not do: the stream may have no record that
	// ends there.
	XLogRecPtr lsn = LogLogicalMessage("pgq_ext", "", 0, false);
	XLogFlush(lsn);
	pgq_ext::process::WaitForProgress(lsn, timeout);
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_enqueuer_status(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	pgq_ext::process::Report report;
	pgq_ext::Row row;

	if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	pgq_ext::process::MakeReport(&report);
	pgq_ext::Fill(&row, report);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), row.values, row.nulls)));
}
}
