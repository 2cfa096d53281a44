// The parts of pgq_check that SQL can't do: see sql/admin/check.sql.
#include "pg/compat.hpp"
#include "process/report.hpp"
#include "queue/keys.hpp"

extern "C" {
#include "access/xact.h"
#include "replication/slot.h"
#include "storage/latch.h"
#include "utils/pg_lsn.h"
#include "utils/wait_event.h"

PG_FUNCTION_INFO_V1(pgq_ext_key_hash);
PG_FUNCTION_INFO_V1(pgq_ext_stream_seen);
}

namespace pgq_ext {

// An enqueuer that ends gives its slot back a moment before it stops to be shown as streaming. So what does not fit is
// looked at again, this often, with that pause.
constexpr int kLooks = 100;
constexpr long kPauseMs = 10;

struct Stream {
	bool streams;
	XLogRecPtr slot_lsn;
	const char *fault; // nullptr: none
};

// What is wrong with the slot of an enqueuer that streams; lsn: up to where it is confirmed.
static const char *
FaultOfSlot(const process::Report &report, XLogRecPtr *lsn)
{
	const char *fault = nullptr;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	ReplicationSlot *slot = SearchNamedReplicationSlot(report.slot_name, false);
	if (slot == nullptr) {
		fault = "the enqueuer streams without a slot";
	} else {
		SpinLockAcquire(&slot->mutex);
		*lsn = slot->data.confirmed_flush;
		if (slot->active_pid != report.pid)
			fault = "the enqueuer streams, but does not hold its slot";
		else if (pg::SlotIsInvalidated(slot))
			fault = "the enqueuer streams from a lost slot";
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return fault;
}

// The state first: what the slot has confirmed by then, the enqueuer has written before.
static Stream
Look()
{
	Stream stream = {};
	process::Report report;

	process::MakeReport(&report);
	stream.streams = report.streams;
	if (stream.streams)
		stream.fault = FaultOfSlot(report, &stream.slot_lsn);
	return stream;
}

static Stream
LookUntilItFits()
{
	Stream stream = Look();

	for (int looks = 1; stream.fault != nullptr && looks < kLooks; looks++) {
		(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPauseMs, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		stream = Look();
	}
	return stream;
}

} // namespace pgq_ext

extern "C" {

PGDLLEXPORT Datum
pgq_ext_key_hash(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_INT64(pgq_ext::queue::HashKey(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}

PGDLLEXPORT Datum
pgq_ext_stream_seen(PG_FUNCTION_ARGS)
{
	// A snapshot that is older than what is seen here can't be compared with it.
	pgq_ext::Stream stream = {};
	TupleDesc desc;

	if (!IsolationUsesXactSnapshot())
		stream = pgq_ext::LookUntilItFits();
	if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	Datum values[] = {BoolGetDatum(stream.streams), LSNGetDatum(stream.slot_lsn),
					  stream.fault != nullptr ? CStringGetTextDatum(stream.fault) : (Datum)0};
	bool nulls[] = {false, XLogRecPtrIsInvalid(stream.slot_lsn), stream.fault == nullptr};
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
}
