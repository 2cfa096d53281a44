// The progress row: see progress.hpp.
#include "queue/progress.hpp"

#include "decode/slot.hpp"
#include "pg/table.hpp"

extern "C" {
#include "access/table.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
}

namespace pgq_ext::queue {

// Columns of pgq_progress.
enum {
	kInstalledLsn = 1,
	kLastLsn,
	kNextPosition,
	kSystemIdentifier,
	kDatabase,
	kSlotName,
	kConverted,
};

static bool
FindRow(const pg::Table &table)
{
	Snapshot snapshot = pg::FreshSnapshot();
	TableScanDesc scan = table_beginscan(table.relation, snapshot, 0, nullptr);
	bool found = table_scan_getnextslot(scan, ForwardScanDirection, table.row);

	if (found)
		ExecMaterializeSlot(table.row);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	return found;
}

static void
FindRowOrFail(const pg::Table &table)
{
	if (!FindRow(table))
		ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND), errmsg("the row of table \"pgq_progress\" is missing")));
}

static bool
WrittenHere(TupleTableSlot *row)
{
	bool isnull;
	Datum system = pg::Get(row, kSystemIdentifier, &isnull);

	if (isnull || (uint64)DatumGetInt64(system) != GetSystemIdentifier())
		return false;
	Datum database = pg::Get(row, kDatabase, &isnull);
	return !isnull && DatumGetObjectId(database) == MyDatabaseId;
}

Progress
ReadProgress(Oid schema)
{
	pg::Table table = pg::Open(schema, "pgq_progress");
	Progress progress = {};
	bool isnull;

	FindRowOrFail(table);
	progress.tid = table.row->tts_tid;
	progress.installed_lsn = DatumGetLSN(pg::Get(table.row, kInstalledLsn, &isnull));
	Datum last_lsn = pg::Get(table.row, kLastLsn, &isnull);
	progress.last_lsn = isnull ? InvalidXLogRecPtr : DatumGetLSN(last_lsn);
	progress.next_position = DatumGetInt64(pg::Get(table.row, kNextPosition, &isnull));
	progress.same_cluster = WrittenHere(table.row);
	Datum converted = pg::Get(table.row, kConverted, &isnull);
	progress.converted = isnull ? nullptr : DatumGetCString(DirectFunctionCall1(pg_snapshot_out, converted));
	pg::Close(&table);
	return progress;
}

char *
PresentSnapshot()
{
	Datum snapshot = DirectFunctionCall1(pg_current_snapshot, (Datum)0);

	return DatumGetCString(DirectFunctionCall1(pg_snapshot_out, snapshot));
}

static void
FillRow(const pg::Table &table, const Progress &progress)
{
	char slot_name[NAMEDATALEN] = {};

	decode::SlotName(slot_name);
	pg::StartRow(table);
	pg::Set(table, kInstalledLsn, LSNGetDatum(progress.installed_lsn));
	pg::Set(table, kLastLsn, LSNGetDatum(progress.last_lsn));
	pg::Set(table, kNextPosition, Int64GetDatum(progress.next_position));
	pg::Set(table, kSystemIdentifier, Int64GetDatum((int64)GetSystemIdentifier()));
	pg::Set(table, kDatabase, ObjectIdGetDatum(MyDatabaseId));
	pg::Set(table, kSlotName, NameGetDatum((Name)palloc(NAMEDATALEN)));
	if (progress.converted != nullptr)
		pg::Set(table, kConverted, DirectFunctionCall1(pg_snapshot_in, CStringGetDatum(progress.converted)));
	memcpy(DatumGetName(table.changed->tts_values[kSlotName - 1]), slot_name, NAMEDATALEN);
}

// Whether a row of ours is at tid; a rewrite of the table may have left something else there, or nothing.
static bool
RowIsAt(const pg::Table &table, ItemPointer tid, Snapshot snapshot)
{
	return ItemPointerGetBlockNumberNoCheck(tid) < RelationGetNumberOfBlocks(table.relation) &&
		   table_tuple_fetch_row_version(table.relation, tid, snapshot, table.row);
}

void
WriteProgress(Oid schema, Progress *progress)
{
	pg::Table table = pg::Open(schema, "pgq_progress");
	Snapshot snapshot = pg::FreshSnapshot();

	if (!RowIsAt(table, &progress->tid, snapshot)) {
		FindRowOrFail(table);
		progress->tid = table.row->tts_tid;
	}
	FillRow(table, *progress);
	if (pg::Update(table, &progress->tid, snapshot) != pg::Outcome::Done)
		elog(ERROR, "the row of table \"pgq_progress\" was changed by somebody else");
	progress->tid = table.changed->tts_tid;
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

} // namespace pgq_ext::queue
