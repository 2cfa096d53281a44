// The order of inserts: see insert_order.hpp.
#include "decode/insert_order.hpp"

#include "decode/partition_move.hpp"
#include "decode/wal_records.hpp"
#include "pg/hash.hpp"

extern "C" {
#include "access/heapam_xlog.h"
#include "access/rmgr.h"
}

namespace pgq_ext::decode {

struct RowPlace {
	pg::RelFileLocator file;
	BlockNumber block;
	uint32 offset; // as wide as the others: a key must have no padding
};

struct InsertEntry {
	RowPlace place; // hash key
	XLogRecPtr lsn; // or kMovedHere
};

struct InsertOrder {
	HTAB *inserts;
	HTAB *moving; // transactions whose next insert is the second half of a cross-partition UPDATE, by xid
	const pg::RelFileLocator *files;
	int nfiles;
};

static bool
IsWanted(const InsertOrder *order, const pg::RelFileLocator &file)
{
	for (int i = 0; i < order->nfiles; i++)
		if (RelFileNodeEquals(order->files[i], file))
			return true;
	return false;
}

// A row that was inserted later at the same place is the one that is there now.
static void
AddInsert(InsertOrder *order, const RowPlace &place, XLogRecPtr lsn)
{
	InsertEntry *entry = (InsertEntry *)hash_search(order->inserts, &place, HASH_ENTER, nullptr);

	entry->lsn = lsn;
}

// What a single insert is: a row of its own, or one that an UPDATE has moved here.
static XLogRecPtr
InsertedOrMoved(InsertOrder *order, XLogReaderState *record)
{
	TransactionId xid = XLogRecGetXid(record);
	bool moved;

	hash_search(order->moving, &xid, HASH_REMOVE, &moved);
	return moved ? kMovedHere : record->ReadRecPtr;
}

static void
AddRecord(void *argument, XLogReaderState *record)
{
	InsertOrder *order = (InsertOrder *)argument;
	uint8 info = XLogRecGetInfo(record);
	uint8 op = info & XLOG_HEAP_OPMASK;
	bool single = XLogRecGetRmid(record) == RM_HEAP_ID && op == XLOG_HEAP_INSERT;
	bool multiple = XLogRecGetRmid(record) == RM_HEAP2_ID && op == XLOG_HEAP2_MULTI_INSERT;
	TransactionId xid = XLogRecGetXid(record);
	RowPlace place;

	if (IsMoveRecord(record))
		hash_search(order->moving, &xid, HASH_ENTER, nullptr);
	if ((!single && !multiple) || !XLogRecGetBlockTagExtended(record, 0, &place.file, nullptr, &place.block, nullptr) ||
		!IsWanted(order, place.file))
		return;
	if (single) {
		place.offset = ((xl_heap_insert *)XLogRecGetData(record))->offnum;
		AddInsert(order, place, InsertedOrMoved(order, record));
		return;
	}
	xl_heap_multi_insert *rows = (xl_heap_multi_insert *)XLogRecGetData(record);
	for (int i = 0; i < rows->ntuples; i++) {
		place.offset = (info & XLOG_HEAP_INIT_PAGE) != 0 ? FirstOffsetNumber + i : rows->offsets[i];
		AddInsert(order, place, record->ReadRecPtr);
	}
}

// The tables' files.
static pg::RelFileLocator *
FilesOf(const List *tables, int *nfiles)
{
	auto *files = (pg::RelFileLocator *)palloc(Max(1, list_length(tables)) * sizeof(pg::RelFileLocator));
	ListCell *lc;

	*nfiles = 0;
	foreach (lc, tables) {
		Relation relation = try_relation_open(lfirst_oid(lc), AccessShareLock);
		if (relation == nullptr)
			continue;
		files[(*nfiles)++] = pg::RelationLocator(relation);
		relation_close(relation, NoLock);
	}
	return files;
}

InsertOrder *
ReadInsertOrder(XLogRecPtr from, XLogRecPtr to, const List *tables)
{
	int nfiles;
	const pg::RelFileLocator *files = FilesOf(tables, &nfiles);
	InsertOrder *order = (InsertOrder *)palloc0(sizeof(InsertOrder));

	order->inserts = pg::NewHash<RowPlace, InsertEntry>(CurrentMemoryContext, "pgq_ext inserts", 1024);
	order->moving = pg::NewHash<TransactionId, TransactionId>(CurrentMemoryContext, "pgq_ext moves", 64);
	order->files = files;
	order->nfiles = nfiles;
	return VisitWal(from, to, AddRecord, order) ? order : nullptr;
}

XLogRecPtr
InsertedAt(const InsertOrder *order, const pg::RelFileLocator &file, const ItemPointerData &tid)
{
	RowPlace place = {file, ItemPointerGetBlockNumberNoCheck(&tid), ItemPointerGetOffsetNumberNoCheck(&tid)};
	InsertEntry *entry = (InsertEntry *)hash_search(order->inserts, &place, HASH_FIND, nullptr);

	return entry != nullptr ? entry->lsn : InvalidXLogRecPtr;
}

} // namespace pgq_ext::decode
