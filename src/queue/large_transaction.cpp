// Rows of pgq_large_transaction: see large_transaction.hpp.
#include "queue/large_transaction.hpp"

#include "pg/table.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/pg_lsn.h"
}

namespace pgq_ext::queue {

// Columns of pgq_large_transaction.
enum {
	kFirstPosition = 1,
	kNextPosition,
	kEndPosition,
	kRowsConverted,
	kCommitLsn,
	kCommittedAt,
	kXids,
};

static const char *const kTable = "pgq_large_transaction";
static const char *const kKey = "pgq_large_transaction_pkey";

static int
CompareXids(const void *a, const void *b)
{
	TransactionId x = *(const TransactionId *)a;
	TransactionId y = *(const TransactionId *)b;

	return x == y ? 0 : x < y ? -1 : 1;
}

static void
ReadXids(LargeTransaction *large, Datum value)
{
	Datum *xids;

	deconstruct_array(DatumGetArrayTypeP(value), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &xids,
					  nullptr, &large->nxids);
	large->xids = (TransactionId *)palloc(Max(1, large->nxids) * sizeof(TransactionId));
	for (int i = 0; i < large->nxids; i++)
		large->xids[i] = (TransactionId)DatumGetInt64(xids[i]);
	qsort(large->xids, large->nxids, sizeof(TransactionId), CompareXids);
}

bool
HasXid(const LargeTransaction &large, TransactionId xid)
{
	return bsearch(&xid, large.xids, large.nxids, sizeof(TransactionId), CompareXids) != nullptr;
}

static LargeTransaction *
ReadRow(TupleTableSlot *row)
{
	auto *large = (LargeTransaction *)palloc0(sizeof(LargeTransaction));
	bool isnull;

	large->first_position = DatumGetInt64(pg::Get(row, kFirstPosition, &isnull));
	large->next_position = DatumGetInt64(pg::Get(row, kNextPosition, &isnull));
	large->end_position = DatumGetInt64(pg::Get(row, kEndPosition, &isnull));
	large->rows_converted = DatumGetInt64(pg::Get(row, kRowsConverted, &isnull));
	large->commit_lsn = DatumGetLSN(pg::Get(row, kCommitLsn, &isnull));
	large->committed_at = DatumGetTimestampTz(pg::Get(row, kCommittedAt, &isnull));
	ReadXids(large, pg::Get(row, kXids, &isnull));
	return large;
}

List *
ReadLargeTransactions(Oid schema)
{
	pg::Table table = pg::Open(schema, kTable);
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Scan scan = pg::BeginScan(table, kKey, snapshot, nullptr, 0);
	List *all = NIL;

	while (scan.Next())
		all = lappend(all, ReadRow(table.row));
	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
	return all;
}

static void
SetXids(const pg::Table &table, const LargeTransaction &large)
{
	auto *xids = (Datum *)MemoryContextAllocHuge(CurrentMemoryContext, Max(1, large.nxids) * sizeof(Datum));

	for (int i = 0; i < large.nxids; i++)
		xids[i] = Int64GetDatum((int64)large.xids[i]);
	ArrayType *array = construct_array(xids, large.nxids, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	pg::Set(table, kXids, PointerGetDatum(array));
}

void
AddLargeTransaction(Oid schema, const LargeTransaction &large)
{
	pg::Table table = pg::Open(schema, kTable);

	pg::StartRow(table);
	pg::Set(table, kFirstPosition, Int64GetDatum(large.first_position));
	pg::Set(table, kNextPosition, Int64GetDatum(large.next_position));
	pg::Set(table, kEndPosition, Int64GetDatum(large.end_position));
	pg::Set(table, kRowsConverted, Int64GetDatum(large.rows_converted));
	pg::Set(table, kCommitLsn, LSNGetDatum(large.commit_lsn));
	pg::Set(table, kCommittedAt, TimestampTzGetDatum(large.committed_at));
	SetXids(table, large);
	pg::Insert(table);
	pg::Close(&table);
}

// Finds the row, which only this process changes.
static void
FindRow(const pg::Table &table, Snapshot snapshot, const LargeTransaction &large)
{
	if (!pg::FindByInt64(table, kKey, snapshot, large.first_position))
		elog(ERROR, "a row of table \"%s\" is missing", kTable);
}

void
AdvanceLargeTransaction(Oid schema, const LargeTransaction &large)
{
	pg::Table table = pg::Open(schema, kTable);
	Snapshot snapshot = pg::FreshSnapshot();

	FindRow(table, snapshot, large);
	ItemPointerData tid = table.row->tts_tid;
	pg::StartChange(table);
	pg::Set(table, kNextPosition, Int64GetDatum(large.next_position));
	pg::Set(table, kRowsConverted, Int64GetDatum(large.rows_converted));
	if (pg::Update(table, &tid, snapshot) != pg::Outcome::Done)
		elog(ERROR, "a row of table \"%s\" was changed by somebody else", kTable);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

void
RemoveLargeTransaction(Oid schema, const LargeTransaction &large)
{
	pg::Table table = pg::Open(schema, kTable);
	Snapshot snapshot = pg::FreshSnapshot();

	FindRow(table, snapshot, large);
	if (pg::Delete(table, &table.row->tts_tid, snapshot, pg::Wait::Yes) != pg::Outcome::Done)
		elog(ERROR, "a row of table \"%s\" was changed by somebody else", kTable);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

} // namespace pgq_ext::queue
