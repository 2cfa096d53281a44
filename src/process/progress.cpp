// Progress and wake-ups: how a commit reaches a sleeping enqueuer, and how the enqueuer's progress
// reaches those who wait for it. See shared.hpp.
#include "process/cluster.hpp"

extern "C" {
#include "common/hashfn.h"
#include "pgstat.h"
#include "replication/slot.h"
#include "storage/latch.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"
#include "catalog/pg_database.h"
}

namespace pgq_ext::process {

// Times before 2000 are long past, whatever they are: 0 stands for all of them.
static uint64
DueValue(TimestampTz due)
{
	return due > 0 ? (uint64)due : 0;
}

void
ForgetDue(Database *db)
{
	// A full barrier: the caller's snapshot is taken after it.
	pg_atomic_exchange_u64(&db->next_due, DT_NOEND);
}

bool
NoteDue(Database *db, TimestampTz due)
{
	uint64 known = pg_atomic_read_u64(&db->next_due);

	while (DueValue(due) < known)
		if (pg_atomic_compare_exchange_u64(&db->next_due, &known, DueValue(due)))
			return true;
	return false;
}

static uint32
FilterBit(Oid relid)
{
	return murmurhash32(relid) % kFilterBits;
}

void
SetCaptured(Database *db, const Oid *relids, int n)
{
	uint64 words[kFilterBits / 64] = {};

	for (int i = 0; i < n; i++)
		words[FilterBit(relids[i]) / 64] |= UINT64CONST(1) << (FilterBit(relids[i]) % 64);
	for (int i = 0; i < kFilterBits / 64; i++)
		pg_atomic_write_u64(&db->captured[i], words[i]);
}

bool
MayBeCaptured(Database *db, Oid relid)
{
	return pg_atomic_read_u64(&db->captured[FilterBit(relid) / 64]) >> (FilterBit(relid) % 64) & 1;
}

void
Wake(Database *db, XLogRecPtr lsn)
{
	uint64 known = pg_atomic_read_u64(&db->wake_lsn);

	while (known < lsn && !pg_atomic_compare_exchange_u64(&db->wake_lsn, &known, lsn))
		;
	// The counterpart is in Sleep: one of the two sees what the other has written.
	pg_memory_barrier();
	if (pg_atomic_read_u32(&db->sleeping) != 0 && pg_atomic_exchange_u32(&db->sleeping, 0) != 0)
		SetEnqueuerLatch(db);
}

// Milliseconds to sleep: the timeout, or less when a job becomes due before; 0: don't.
static long
SleepTime(Database *db, XLogRecPtr position, long timeout)
{
	if (pg_atomic_read_u64(&db->wake_lsn) > position)
		return 0;

	uint64 due = pg_atomic_read_u64(&db->next_due);
	if (due == (uint64)DT_NOEND)
		return timeout;
	return Min(timeout, TimestampDifferenceMilliseconds(GetCurrentTimestamp(), (TimestampTz)due));
}

void
Sleep(Database *db, XLogRecPtr position, long timeout)
{
	pg_atomic_write_u32(&db->sleeping, 1);
	pg_memory_barrier();
	timeout = SleepTime(db, position, timeout);
	if (timeout > 0)
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout, PG_WAIT_EXTENSION);
	pg_atomic_write_u32(&db->sleeping, 0);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
PublishProgress(Database *db, XLogRecPtr lsn)
{
	pg_atomic_write_u64(&db->last_lsn, lsn);
	ConditionVariableBroadcast(&db->progressed);
}

static bool
IsTemplate()
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));

	if (!HeapTupleIsValid(tuple))
		return false;
	bool is_template = ((Form_pg_database)GETSTRUCT(tuple))->datistemplate;
	ReleaseSysCache(tuple);
	return is_template;
}

const char *
MissingPrecondition()
{
	if (!Preloaded())
		return "Add pgq_ext to shared_preload_libraries and restart the server.";
	if (wal_level < WAL_LEVEL_LOGICAL)
		return "Set wal_level to logical and restart the server.";
	if (max_replication_slots == 0)
		return "Set max_replication_slots to at least 1 and restart the server.";
	if (IsTemplate())
		return "A template database has no enqueuer: use ALTER DATABASE ... IS_TEMPLATE false.";
	return nullptr;
}

static const char *
ReasonForDelay(Database *db)
{
	if (db == nullptr || db->pid == 0)
		return "No enqueuer is running in this database at the moment; pgq_enqueuer.last_error may "
			   "say why.";
	if (db->state == State::CreatingSlot && TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return "The enqueuer waits for the transactions that were running when it was started, and "
			   "this one has written "
			   "already: commit it before calling pgq_sync.";
	if (db->state == State::CreatingSlot)
		return "The enqueuer waits for the transactions that were running when it was started to "
			   "end.";
	return "The enqueuer is behind; pgq_enqueuer.lag_bytes says how far.";
}

void
WaitForProgress(XLogRecPtr lsn, long timeout)
{
	const char *missing = MissingPrecondition();
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout);

	if (missing != nullptr)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("no enqueuer can run in this database"), errhint("%s", missing)));
	for (;;) {
		Database *db = ThisDatabase();
		if (db != nullptr && pg_atomic_read_u64(&db->last_lsn) >= lsn)
			break;
		// An enqueuer that was being started when the caller woke it knows nothing of that.
		if (db != nullptr)
			Wake(db, lsn);

		long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
		if (left <= 0)
			ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED),
							errmsg("timeout while waiting for the enqueuer to reach %X/%X", LSN_FORMAT_ARGS(lsn)),
							errhint("%s", ReasonForDelay(db))));
		ConditionVariableTimedSleep(db != nullptr ? &db->progressed : &cluster->changed, Min(left, 1000),
									PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

} // namespace pgq_ext::process
