// Events of before the slot: see catch_up.hpp.
#include "queue/catch_up.hpp"

#include "decode/commit_order.hpp"
#include "pg/table.hpp"
#include "queue/gap_handlers.hpp"

extern "C" {
#include "access/heaptoast.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "replication/slot.h"
#include "storage/lmgr.h"
}

namespace pgq_ext::queue {

// A row that one of the gap's transactions inserted.
struct Found {
	decode::Commit commit;
	CommandId command;
	int64 sequence; // in the order found
	decode::Source *source;
	HeapTuple row;
};

struct Search {
	Oid schema;
	decode::Batch *batch;
	const decode::CommitOrder *commits; // nullptr: events of the gap are not to be had
	List *versions;                     // of Version *
	Found *found;
	int64 nfound, max_found;
};

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

	MemoryContext old = MemoryContextSwitchTo(search->batch->context);
	decode::Source *source = (decode::Source *)palloc0(sizeof(decode::Source));
	source->relid = RelationGetRelid(relation);
	source->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	source->nhandlers = n;
	source->handlers = (decode::Handler **)palloc(n * sizeof(decode::Handler *));
	foreach (lc, handlers)
		source->handlers[foreach_current_index(lc)] = (decode::Handler *)lfirst(lc);
	MemoryContextSwitchTo(old);
	return source;
}

static decode::Source *
RequestSource(Search *search, Relation relation, decode::Source *last)
{
	if (last != nullptr)
		return last;
	MemoryContext old = MemoryContextSwitchTo(search->batch->context);
	decode::Source *source = (decode::Source *)palloc0(sizeof(decode::Source));
	source->relid = RelationGetRelid(relation);
	source->requests = true;
	source->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	MemoryContextSwitchTo(old);
	return source;
}

static void
AddFound(Search *search, const decode::Commit &commit, decode::Source *source, HeapTuple row)
{
	if (search->nfound == search->max_found) {
		search->max_found = Max(1024, search->max_found * 2);
		Size size = search->max_found * sizeof(Found);
		search->found = search->found == nullptr
							? (Found *)palloc_extended(size, MCXT_ALLOC_HUGE)
							: (Found *)repalloc_huge(search->found, size);
	}
	Found *found = &search->found[search->nfound];
	found->commit = commit;
	found->command = HeapTupleHeaderGetRawCommandId(row->t_data);
	found->sequence = search->nfound++;
	found->source = source;
	found->row = row;
}

// The commit in the gap that brought the row; nullptr: it is not of the gap. A request that is still there is to be done
// however old it is, as in a copied database, but not when the slot's stream brings it.
static const decode::Commit *
CommitOf(const Search &search, HeapTupleHeader row, bool request)
{
	static const decode::Commit long_ago = {};
	TransactionId xmin = HeapTupleHeaderGetRawXmin(row);
	const decode::Commit *commit =
		search.commits != nullptr ? decode::FindCommit(search.commits, xmin) : nullptr;

	if (commit != nullptr || !request)
		return commit;
	bool old = search.commits == nullptr || HeapTupleHeaderXminFrozen(row) ||
			   TransactionIdPrecedes(xmin, MyReplicationSlot->data.catalog_xmin);
	return old ? &long_ago : nullptr;
}

// Finds the gap's rows in one table. A row version made by an UPDATE is no insert.
static void
SearchTable(Search *search, Oid relid, bool requests)
{
	Relation relation = try_relation_open(relid, AccessShareLock);
	if (relation == nullptr)
		return;
	if (relation->rd_rel->relkind != RELKIND_RELATION) { // the rows of a partitioned table are in its partitions
		relation_close(relation, AccessShareLock);
		return;
	}
	Snapshot snapshot = pg::FreshSnapshot();
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, nullptr);
	TupleTableSlot *slot = table_slot_create(relation, nullptr);
	List *captured = list_make1_oid(relid);
	decode::Source *source = nullptr;

	if (relation->rd_rel->relispartition)
		captured = list_concat(captured, get_partition_ancestors(relid));
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = ExecFetchSlotHeapTuple(slot, false, nullptr);
		const decode::Commit *commit = CommitOf(*search, row->t_data, requests);

		if (commit == nullptr || (row->t_data->t_infomask & HEAP_UPDATED) != 0)
			continue;
		decode::Source *of_row = requests
									 ? RequestSource(search, relation, source)
									 : SourceAt(search, relation, captured, commit->order, source);
		if (of_row == nullptr)
			continue;
		source = of_row;
		AddFound(search, *commit, source, ExecCopySlotHeapTuple(slot));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
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

static int
InCommitOrder(const void *a, const void *b)
{
	const Found *x = (const Found *)a;
	const Found *y = (const Found *)b;

	if (x->commit.order != y->commit.order)
		return x->commit.order < y->commit.order ? -1 : 1;
	if (x->command != y->command)
		return x->command < y->command ? -1 : 1;
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

bool
CatchUp(Oid schema, decode::Collector *collector, decode::Batch *batch, const Gap &gap)
{
	Search search = {};
	ListCell *lc;

	search.schema = schema;
	search.batch = batch;
	search.commits = decode::ReadCommitOrder(gap.from, gap.to);
	if (search.commits != nullptr)
		decode::WaitUntilVisible(search.commits);
	search.versions = VersionsOfGap(schema, collector, batch, gap, search.commits);
	if (search.commits != nullptr)
		foreach (lc, TablesOf(search))
			SearchTable(&search, lfirst_oid(lc), false);
	SearchTable(&search, pg::RelationNamed(schema, "pgq_request"), true);
	FillBatch(&search);
	batch->end = gap.to;
	return search.commits != nullptr;
}

} // namespace pgq_ext::queue
