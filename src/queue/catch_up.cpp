// Events of before the slot: see catch_up.hpp.
#include "queue/catch_up.hpp"

#include "decode/commit_order.hpp"
#include "decode/insert_order.hpp"
#include "decode/source_table.hpp"
#include "pg/fault.hpp"
#include "pg/table.hpp"
#include "queue/gap_handlers.hpp"

extern "C" {
#include "access/heaptoast.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "replication/slot.h"
#include "storage/bufmgr.h"
}

namespace pgq_ext::queue {

// A row that one of the gap's transactions inserted.
struct Found {
	decode::Commit commit;
	XLogRecPtr inserted_at; // Invalid: unknown, but before those that are known
	CommandId command;
	TransactionId xmin;
	int64 sequence; // in the order found
	decode::Source *source;
	decode::Large *large; // whose it is; nullptr: of the batch
	HeapTuple row;
};

struct Search {
	decode::Batch *batch;
	CaughtUp result;
	Snapshot snapshot;
	const Gap *gap;
	const decode::CommitOrder *commits; // nullptr: events of the gap are not to be had
	const decode::InsertOrder *inserts; // nullptr: unknown
	List *versions;                     // of Version *
	Found *found;
	int64 nfound, max_found;
};

// The large transaction that the row belongs to. Without the WAL, where commits are is not known.
static decode::Large *
LargeOf(const Search &search, const decode::Commit &commit, TransactionId xmin)
{
	ListCell *lc;

	foreach (lc, search.gap->large) {
		const GapLarge *large = (GapLarge *)lfirst(lc);
		if (search.result == CaughtUp::InOrder && commit.lsn == large->row->commit_lsn)
			return large->rows;
		if (search.result == CaughtUp::ByXids && HasXid(*large->row, xmin))
			return large->rows;
	}
	return nullptr;
}

// Whether the commit is one that has become jobs already.
static bool
IsConverted(const Search &search, const decode::Commit &commit, TransactionId xmin)
{
	return search.result == CaughtUp::InOrder && commit.lsn < search.gap->converted_to &&
		   LargeOf(search, commit, xmin) == nullptr;
}

static void
AddFound(Search *search, const decode::Commit &commit, decode::Source *source, decode::Large *large,
		 const pg::RelFileLocator &file, HeapTuple row)
{
	XLogRecPtr inserted_at =
		search->inserts != nullptr ? decode::InsertedAt(search->inserts, file, row->t_self) : InvalidXLogRecPtr;

	if (inserted_at == decode::kMovedHere)
		return;
	if (search->nfound == search->max_found) {
		search->max_found *= 2;
		search->found = (Found *)repalloc_huge(search->found, search->max_found * sizeof(Found));
	}
	Found *found = &search->found[search->nfound];
	found->commit = commit;
	found->inserted_at = inserted_at;
	found->command = HeapTupleHeaderGetRawCommandId(row->t_data);
	found->xmin = HeapTupleHeaderGetRawXmin(row->t_data);
	found->sequence = search->nfound++;
	found->source = source;
	found->large = large;
	found->row = row;
}

// Whether the xid in a row is too old to be compared, all xids having been in use again: a frozen row may have such a one,
// but a row of the gap is on a page that has been changed since.
static bool
IsReused(const Search &search, TupleTableSlot *slot, HeapTupleHeader row)
{
	if (!HeapTupleHeaderXminFrozen(row) || !TTS_IS_BUFFERTUPLE(slot) ||
		EpochFromFullTransactionId(ReadNextFullTransactionId()) == 0)
		return false;
	return BufferGetLSNAtomic(((BufferHeapTupleTableSlot *)slot)->buffer) < search.gap->from;
}

// Whether a row was inserted in the gap, and the commit that brought it. A request that is still there is to be done
// however old it is, as in a copied database, but not when the slot's stream brings it.
static bool
IsOfGap(const Search &search, TupleTableSlot *slot, HeapTupleHeader row, bool request, decode::Commit *commit)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(row);

	*commit = {};
	if (search.commits != nullptr && decode::FindCommit(search.commits, xmin, commit) && !IsReused(search, slot, row))
		return !IsConverted(search, *commit, xmin);
	return request && (search.commits == nullptr || HeapTupleHeaderXminFrozen(row) ||
					   TransactionIdPrecedes(xmin, MyReplicationSlot->data.catalog_xmin));
}

// The source of a row, in the memory of where it goes; nullptr: nobody's.
static decode::Source *
SourceOf(const Search &search, Relation relation, bool requests, const List *captured, const decode::Commit &commit,
		 const decode::Large *large, decode::Source *last)
{
	MemoryContext context = large != nullptr ? large->context : search.batch->context;

	if (!requests)
		return SourceAt(search.versions, context, relation, captured, commit.order, last);
	return last != nullptr ? last : SourceWith(context, relation, true, NIL);
}

// Finds the gap's rows in one table. A row version made by an UPDATE is no insert. Where the WAL tells what committed,
// versions that were updated or deleted since count, too, as long as they are there; a request that is not there was done.
static void
SearchTable(Search *search, Oid relid, bool requests)
{
	bool any = search->result == CaughtUp::InOrder && !requests;
	Relation relation = try_relation_open(relid, AccessShareLock);
	if (relation == nullptr)
		return;
	if (relation->rd_rel->relkind != RELKIND_RELATION) { // rows of a partitioned table are in its partitions
		relation_close(relation, AccessShareLock);
		return;
	}
	TableScanDesc scan = table_beginscan(relation, any ? SnapshotAny : search->snapshot, 0, nullptr);
	TupleTableSlot *slot = table_slot_create(relation, nullptr);
	const List *captured = decode::CapturedBy(relation);
	decode::Source *source = nullptr;
	decode::Large *last = nullptr; // whose source it is

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = ExecFetchSlotHeapTuple(slot, false, nullptr);
		decode::Commit commit;

		if (!IsOfGap(*search, slot, row->t_data, requests, &commit) || (row->t_data->t_infomask & HEAP_UPDATED) != 0)
			continue;
		decode::Large *large = LargeOf(*search, commit, HeapTupleHeaderGetRawXmin(row->t_data));
		if (large != last)
			source = nullptr;
		last = large;
		decode::Source *of_row = SourceOf(*search, relation, requests, captured, commit, large, source);
		if (of_row == nullptr)
			continue;
		source = of_row;
		AddFound(search, commit, source, large, pg::RelationLocator(relation), ExecCopySlotHeapTuple(slot));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	relation_close(relation, NoLock);
}

static List *
TablesOf(const Search &search)
{
	List *tables = NIL;
	ListCell *lc;

	foreach (lc, search.versions) {
		Oid source = ((Version *)lfirst(lc))->handler->source;
		char relkind = get_rel_relkind(source);

		if (relkind == RELKIND_PARTITIONED_TABLE)
			tables = list_concat_unique_oid(tables, find_all_inheritors(source, AccessShareLock, nullptr));
		else if (relkind == RELKIND_RELATION)
			tables = list_append_unique_oid(tables, source);
	}
	return tables;
}

// By commit, and within a transaction by insert. Where that is unknown, command and subtransaction tell as much as there
// is to know.
static int
InCommitOrder(const void *a, const void *b)
{
	const Found *x = (const Found *)a;
	const Found *y = (const Found *)b;

	if (x->commit.order != y->commit.order)
		return x->commit.order < y->commit.order ? -1 : 1;
	if (x->inserted_at != y->inserted_at)
		return x->inserted_at < y->inserted_at ? -1 : 1;
	if (x->command != y->command)
		return x->command < y->command ? -1 : 1;
	if (x->xmin != y->xmin)
		return TransactionIdPrecedes(x->xmin, y->xmin) ? -1 : 1;
	return x->sequence < y->sequence ? -1 : 1;
}

static void
FillBatch(Search *search)
{
	decode::Run *run = nullptr;
	uint32 order = 0;

	if (search->nfound > 0)
		qsort(search->found, search->nfound, sizeof(Found), InCommitOrder);
	for (int64 i = 0; i < search->nfound; i++) {
		Found *found = &search->found[i];
		if (HeapTupleHasExternal(found->row))
			found->row = toast_flatten_tuple(found->row, found->source->desc);
		if (found->large != nullptr) {
			decode::AddSettledRow(found->large, found->source, found->row);
			continue;
		}
		if (run == nullptr || run->source != found->source || order != found->commit.order)
			run = decode::AddRun(search->batch, found->source, found->commit.lsn,
								 found->commit.at != 0 ? found->commit.at : GetCurrentTimestamp());
		order = found->commit.order;
		decode::AddRow(search->batch, run, found->row);
	}
}

// Finds out what the gap's commits are, and takes a snapshot in which they are all visible.
static CaughtUp
FindCommits(Search *search, const Gap &gap)
{
	search->commits = decode::ReadCommitOrder(gap.from, gap.to);
	if (search->commits != nullptr)
		decode::WaitUntilVisible(search->commits);
	search->snapshot = pg::FreshSnapshot();
	if (search->commits != nullptr)
		return CaughtUp::InOrder;
	if (gap.converted != nullptr)
		search->commits = decode::CommitsByXid(gap.converted, search->snapshot, gap.to);
	return search->commits != nullptr ? CaughtUp::ByXids : CaughtUp::Not;
}

CaughtUp
CatchUp(Oid schema, decode::Collector *collector, decode::Batch *batch, const Gap &gap)
{
	Search search = {};
	List *tables = NIL;
	ListCell *lc;

	search.batch = batch;
	search.gap = &gap;
	search.max_found = 1024;
	search.found = (Found *)palloc(search.max_found * sizeof(Found));
	search.result = FindCommits(&search, gap);
	search.versions = VersionsOfGap(schema, collector, batch, gap, search.commits);
	Oid requests = pg::RelationNamed(schema, "pgq_request");
	if (search.commits != nullptr)
		tables = TablesOf(search);
	if (search.result == CaughtUp::InOrder)
		search.inserts = decode::ReadInsertOrder(gap.from, gap.to, lappend_oid(list_copy(tables), requests));
	foreach (lc, tables)
		SearchTable(&search, lfirst_oid(lc), false);
	pg::FaultPoint("during_catch_up");
	SearchTable(&search, requests, true);
	FillBatch(&search);
	UnregisterSnapshot(search.snapshot);
	batch->end = gap.to;
	return search.result;
}

} // namespace pgq_ext::queue
