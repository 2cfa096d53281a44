// Making, changing and dropping queues: see queue_ddl.hpp.
#include "queue/queue_ddl.hpp"

#include "queue/job.hpp"
#include "queue/queue_settings.hpp"
#include "queue/queue_use.hpp"
#include "queue/worker_rights.hpp"

extern "C" {
#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
}

namespace pgq_ext::queue {

constexpr int64 kLongestSetting = 100 * 12 * 30 * USECS_PER_DAY; // 100 years, as intervals are compared

constexpr int kSettingColumns[kQueueSettings] = {queue_column::kMaxAttempts, queue_column::kLease,
												 queue_column::kBackoff, queue_column::kMaxBackoff};

static void
CheckInterval(const char *name, const Interval &span)
{
	if (Microseconds(span) <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("argument \"%s\" must be a positive interval", name)));
	if (Microseconds(span) > kLongestSetting)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"%s\" is out of range", name),
						errdetail("It may be as long as 100 years.")));
}

void
CheckSettings(const QueueDefinition &definition)
{
	for (int i = 0; i < kQueueSettings; i++) {
		NullableDatum setting = definition.settings[i];

		if (setting.isnull)
			continue;
		if (i != kSetMaxAttempts)
			CheckInterval(kQueueSettingNames[i], *DatumGetIntervalP(setting.value));
		else if (DatumGetInt32(setting.value) <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"max_attempts\" must be positive")));
	}
}

// Those who create or drop a queue of this name wait for each other. Two names may share a lock.
static void
LockName(const pg::Table &queues, Datum queue)
{
	text *name = DatumGetTextPP(queue);

	LockDatabaseObject(RelationGetRelid(queues.relation),
					   hash_bytes((const unsigned char *)VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)), 0,
					   AccessExclusiveLock);
}

static bool
FindQueue(const pg::Table &queues, Snapshot snapshot, Datum queue)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ, queue);
	pg::Scan scan = pg::BeginScan(queues, "pgq_queue_pkey", snapshot, &key, 1);
	bool found = scan.Next();
	if (found)
		ExecMaterializeSlot(queues.row);
	scan.End();
	return found;
}

// Runs change(snapshot) on the queue's row, in queues.row, until it is Done: again when the row was changed meanwhile.
template <typename Change>
static void
ChangeQueue(const pg::Table &queues, Datum queue, const Change &change)
{
	pg::Outcome outcome;

	do {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = pg::FreshSnapshot();
		if (!FindQueue(queues, snapshot, queue))
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
							errmsg("queue \"%s\" does not exist", TextDatumGetCString(queue))));
		outcome = change(snapshot);
		UnregisterSnapshot(snapshot);
	} while (outcome != pg::Outcome::Done);
}

static void
Fill(const pg::Table &queues, const QueueDefinition &definition)
{
	for (int i = 0; i < kQueueSettings; i++)
		if (!definition.settings[i].isnull)
			pg::Set(queues, kSettingColumns[i], definition.settings[i].value);
}

void
CreateQueue(Oid schema, const QueueDefinition &definition)
{
	pg::Table queues = pg::Open(schema, "pgq_queue");

	LockName(queues, definition.queue);
	pg::StartRow(queues);
	pg::Set(queues, queue_column::kQueue, definition.queue);
	Fill(queues, definition);
	pg::Set(queues, queue_column::kCreatedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
	if (!pg::InsertIfNew(queues))
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("queue \"%s\" already exists", TextDatumGetCString(definition.queue))));
	pg::Close(&queues);
}

void
AlterQueue(Oid schema, const QueueDefinition &change)
{
	pg::Table queues = pg::Open(schema, "pgq_queue");

	ChangeQueue(queues, change.queue, [&](Snapshot snapshot) {
		ItemPointerData tid = queues.row->tts_tid;

		pg::StartChange(queues);
		Fill(queues, change);
		return pg::Update(queues, &tid, snapshot);
	});
	pg::Close(&queues);
}

// Whether the table has a row of the queue, and that with a NULL in the column unless_set. There is no index that knows
// all jobs of a queue.
static bool
HasRow(Oid schema, const char *name, Snapshot snapshot, Datum queue, const char *unless_set)
{
	pg::Table table = pg::Open(schema, name);
	TupleDesc desc = RelationGetDescr(table.relation);
	TableScanDesc scan = table_beginscan(table.relation, snapshot, 0, nullptr);
	bool found = false;

	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, table.row)) {
		bool none, unset = true;
		Datum of_row = pg::Get(table.row, SPI_fnumber(desc, "queue"), &none);

		CHECK_FOR_INTERRUPTS();
		if (unless_set != nullptr)
			(void)pg::Get(table.row, SPI_fnumber(desc, unless_set), &unset);
		found = !none && unset && DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID, of_row, queue));
	}
	table_endscan(scan);
	pg::Close(&table);
	return found;
}

// What uses the queue; nullptr when nothing does. One snapshot: a job on its way from request to live table is not missed.
static const char *
UserOf(Oid schema, Datum queue)
{
	Snapshot snapshot = pg::FreshSnapshot();
	const char *user = nullptr;

	if (HasRow(schema, "pgq_handler", snapshot, queue, "retired_xid"))
		user = "It has handlers.";
	else if (HasRow(schema, "pgq_job", snapshot, queue, nullptr))
		user = "It has live jobs.";
	else if (HasRow(schema, "pgq_request", snapshot, queue, nullptr))
		user = "Jobs are being enqueued into it.";
	UnregisterSnapshot(snapshot);
	return user;
}

void
DropQueue(Oid schema, Datum queue)
{
	pg::Table queues = pg::Open(schema, "pgq_queue");

	LockName(queues, queue);
	// Whoever is using the queue holds its row until his commit: behind this, we see what he did.
	ChangeQueue(queues, queue, [&](Snapshot snapshot) {
		ItemPointerData tid = queues.row->tts_tid;
		return pg::Delete(queues, &tid, snapshot, pg::Wait::Yes);
	});
	AwaitUsers(RelationGetRelid(queues.relation), TextDatumGetCString(queue));
	pg::Close(&queues);
	RemoveQueuesOf(schema, InvalidOid, NullableDatum{queue, false}); // a later queue of the name is another one
	const char *user = UserOf(schema, queue);
	if (user != nullptr)
		ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
						errmsg("cannot drop queue \"%s\"", TextDatumGetCString(queue)), errdetail("%s", user)));
}

} // namespace pgq_ext::queue
