// Events of before the slot: see catch_up.hpp.
#include "queue/catch_up.hpp"

#include "decode/commit_order.hpp"
#include "decode/insert_order.hpp"
#include "pg/fault.hpp"
#include "pg/table.hpp"
#include "queue/gap_handlers.hpp"

extern "C" {
#include "access/heaptoast.h"
#include "access/table.h"
#include "catalog/partition.h"
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
	HeapTuple row;
};

struct Search {
	decode::Batch *batch;
	CaughtUp result;
	Snapshot snapshot;
	XLogRecPtr from;
	const decode::CommitOrder *commits; // nullptr: events of the gap are not to be had
	const decode::InsertOrder *inserts; // nullptr: unknown
	List *versions;                     // of Version *
	Found *found;
	int64 nfound, max_found;
};

static decode::Source *
NewSource(Search *search, Relation relation, const List *handlers)
{
	MemoryContext old = MemoryContextSwitchTo(search->batch->context);
	decode::Source *source = (decode::Source *)palloc0(sizeof(decode::Source));
	ListCell *lc;

	source->relid = RelationGetRelid(relation);
	source->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	source->nhandlers = list_length(handlers);
	source->handlers =
		(decode::Handler **)palloc(Max(1, source->nhandlers) * sizeof(decode::Handler *));
	foreach (lc, handlers)
		source->handlers[foreach_current_index(lc)] = (decode::Handler *)lfirst(lc);
	MemoryContextSwitchTo(old);
	return source;
}

// The source for a row of relation inserted by the transaction with that order; nullptr: no handler applies. Rows that
// come one after the other mostly share it, so the last one is looked at first.
static decode::Source *
SourceAt(Search *search, Relation relation, const List *captured, uint32 order, decode::Source *last)
{
	List *handlers = NIL;
	ListCell *lc;

	foreach (lc, search->versions) {
		Version *version = (Version *)lfirst(lc);
		if (version->after < order && order <= version->until &&
			list_member_oid(captured, version->handler->source))
			handlers = lappend(handlers, version->handler);
	}
	int n = list_length(handlers);
	if (n == 0)
		return nullptr;
	bool same = last != nullptr && last->nhandlers == n;
	for (int i = 0; same && i < n; i++)
		same = last->handlers[i] == list_nth(handlers, i);
	if (same)
		return last;

	return NewSource(search, relation, handlers);
}

static void
AddFound(Search *search, const decode::Commit &commit, decode::Source *source,
		 const pg::RelFileLocator &file, HeapTuple row)
{
	XLogRecPtr inserted_at = search->inserts != nullptr
								 ? decode::InsertedAt(search->inserts, file, row->t_self)
								 : InvalidXLogRecPtr;

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
	return BufferGetLSNAtomic(((BufferHeapTupleTableSlot *)slot)->buffer) < search.from;
}

// Whether a row was inserted in the gap, and the commit that brought it. A request that is still there is to be done
// however old it is, as in a copied database, but not when the slot's stream brings it.
static bool
IsOfGap(const Search &search, TupleTableSlot *slot, HeapTupleHeader row, bool request,
		decode::Commit *commit)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(row);

	*commit = {};
	if (search.commits != nullptr && decode::FindCommit(search.commits, xmin, commit) &&
		!IsReused(search, slot, row))
		return true;
	return request && (search.commits == nullptr || HeapTupleHeaderXminFrozen(row) ||
					   TransactionIdPrecedes(xmin, MyReplicationSlot->data.catalog_xmin));
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
	List *captured = list_make1_oid(relid);
	decode::Source *source = requests ? NewSource(search, relation, NIL) : nullptr;

	if (requests)
		source->requests = true;
	else if (relation->rd_rel->relispartition)
		captured = list_concat(captured, get_partition_ancestors(relid));
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = ExecFetchSlotHeapTuple(slot, false, nullptr);
		decode::Commit commit;

		if (!IsOfGap(*search, slot, row->t_data, requests, &commit) ||
			(row->t_data->t_infomask & HEAP_UPDATED) != 0)
			continue;
		decode::Source *of_row =
			requests ? source : SourceAt(search, relation, captured, commit.order, source);
		if (of_row == nullptr)
			continue;
		source = of_row;
		AddFound(search, commit, source, pg::RelationLocator(relation), ExecCopySlotHeapTuple(slot));
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

// Reads where in the WAL the rows of these tables were inserted.
static const decode::InsertOrder *
InsertsOf(const List *tables, const Gap &gap)
{
	auto *files = (pg::RelFileLocator *)palloc(Max(1, list_length(tables)) * sizeof(pg::RelFileLocator));
	int nfiles = 0;
	ListCell *lc;

	foreach (lc, tables) {
		Relation relation = try_relation_open(lfirst_oid(lc), AccessShareLock);
		if (relation == nullptr)
			continue;
		files[nfiles++] = pg::RelationLocator(relation);
		relation_close(relation, NoLock); // no other file until we have read the rows
	}
	return decode::ReadInsertOrder(gap.from, gap.to, files, nfiles);
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
		if (run == nullptr || run->source != found->source || order != found->commit.order)
			run = decode::AddRun(search->batch, found->source, found->commit.lsn,
								 found->commit.at != 0 ? found->commit.at : GetCurrentTimestamp());
		order = found->commit.order;
		if (HeapTupleHasExternal(found->row))
			found->row = toast_flatten_tuple(found->row, found->source->desc);
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
	search.from = gap.from;
	search.max_found = 1024;
	search.found = (Found *)palloc(search.max_found * sizeof(Found));
	search.result = FindCommits(&search, gap);
	search.versions = VersionsOfGap(schema, collector, batch, gap, search.commits);
	Oid requests = pg::RelationNamed(schema, "pgq_request");
	if (search.commits != nullptr)
		tables = TablesOf(search);
	if (search.result == CaughtUp::InOrder)
		search.inserts = InsertsOf(lappend_oid(list_copy(tables), requests), gap);
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
