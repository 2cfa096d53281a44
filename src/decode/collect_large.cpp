// Transactions that are streamed while they run, and those of which a part is still to be done: see collector.hpp.
//
// What is streamed may be rolled back later, and which handlers apply is known at the commit only. So everything
// inserted is kept, whoever may capture it. A stretch of the stream may end within a callback: the transaction turned
// out to have been aborted when the catalog was asked.
#include "decode/collector_state.hpp"
#include "decode/handler_row.hpp"

namespace pgq_ext::decode {

// A streamed transaction with fewer events than this is converted like any other: pieces cost, too. Not if its other rows are
// many, which take time to be passed over.
constexpr int64 kFewRows = 1000;
constexpr int64 kFewBytes = 8 * 1024 * 1024;

// Between streams the transaction's own, in the server's memory of it.
static Large *
LargeOf(Collector *collector, ReorderBufferTXN *txn)
{
	if (txn->output_plugin_private == nullptr)
		txn->output_plugin_private = NewLarge(collector->context, collector->owner);
	return (Large *)txn->output_plugin_private;
}

static void
KeepHandler(Large *large, Relation relation, ReorderBufferChange *change)
{
	MemoryContext old = MemoryContextSwitchTo(large->context);
	Handler *handler = ChangedHandler(relation, change);

	if (handler != nullptr) {
		HandlerRow *row = (HandlerRow *)palloc(sizeof(HandlerRow));
		*row = {handler, change->action == REORDER_BUFFER_CHANGE_INSERT, change->txn->xid};
		large->handler_rows = lappend(large->handler_rows, row);
	}
	MemoryContextSwitchTo(old);
}

void
KeepChange(Collector *collector, Large *large, Relation relation, ReorderBufferChange *change)
{
	Oid relid = RelationGetRelid(relation);

	if (relid == collector->own.handler) {
		KeepHandler(large, relation, change);
		return;
	}
	HeapTuple row = InsertedRow(collector, relation, change);
	if (row == nullptr)
		return;
	Shape *shape = ShapeOf(large, relation, relid == collector->own.request, collector->generation);
	HeapTuple flat = Flat(row, relation);
	AddLargeRow(large, shape, change->txn->xid, flat);
	FreeFlat(flat, row);
}

void
CollectStreamStart(Collector *collector, ReorderBufferTXN *txn)
{
	Large *large = LargeOf(collector, txn);

	collector->moves.root = large->move_root;
	collector->moves.left = large->move_left;
}

void
CollectStreamed(Collector *collector, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	KeepChange(collector, LargeOf(collector, txn), relation, change);
}

void
CollectStreamStop(Collector *collector, ReorderBufferTXN *txn)
{
	Large *large = LargeOf(collector, txn);

	large->move_root = collector->moves.root;
	large->move_left = collector->moves.left;
	EndMoves(&collector->moves);
}

void
CollectStreamAbort(Collector *, ReorderBufferTXN *txn)
{
	if (txn->toptxn != nullptr) {
		if (txn->toptxn->output_plugin_private != nullptr)
			NoteAborted((Large *)txn->toptxn->output_plugin_private, txn->xid);
		return;
	}
	if (txn->output_plugin_private != nullptr)
		FreeLarge((Large *)txn->output_plugin_private);
	txn->output_plugin_private = nullptr;
}

void
CollectStreamCommit(Collector *collector, ReorderBufferTXN *txn)
{
	Large *large = LargeOf(collector, txn);

	txn->output_plugin_private = nullptr;
	if (IsConverted(collector, txn))
		FreeLarge(large);
	else
		HandOver(collector, large, txn);
}

// The xids by which its rows are known.
static void
NoteXids(Large *large, const ReorderBufferTXN *txn)
{
	dlist_iter iter;

	large->xids = (TransactionId *)MemoryContextAllocHuge(large->context, (txn->nsubtxns + 1) * sizeof(TransactionId));
	large->xids[large->nxids++] = txn->xid;
	dlist_foreach (iter, const_cast<dlist_head *>(&txn->subtxns))
		large->xids[large->nxids++] = dlist_container(ReorderBufferTXN, node, iter.cur)->xid;
}

// Puts all its rows into the batch, which keeps it.
static void
Join(Large *large, Batch *batch)
{
	(void)TakePiece(large, batch, PG_INT64_MAX, PG_INT64_MAX);
	CloseLarge(large);
	MemoryContextSetParent(large->context, batch->context);
}

static void
NoteHandlers(Collector *collector, const Large *large)
{
	ListCell *lc;

	foreach (lc, large->handler_rows) {
		HandlerRow *row = (HandlerRow *)lfirst(lc);
		if (!IsAborted(large, row->xid))
			NoteHandler(collector, *row->handler, row->inserted);
	}
}

static bool
IsSmall(const Large *large)
{
	return large->nrows == 0 || (large->nrows < kFewRows && large->bytes < kFewBytes);
}

// One that changes handlers is not done in pieces: they would have to be done by handlers that no longer apply.
void
HandOver(Collector *collector, Large *large, const ReorderBufferTXN *txn)
{
	Batch *batch = collector->batch;

	large->commit_lsn = txn->final_lsn;
	large->committed_at = txn->xact_time.commit_time;
	NoteXids(large, txn);
	Settle(large, collector->handlers);
	NoteHandlers(collector, large);
	if (large->nrows > 0 || collector->pending != NIL)
		AddXid(batch, txn->xid);
	if (IsUnfinished(collector, txn) || (!IsSmall(large) && collector->pending == NIL))
		batch->large = large;
	else if (large->nrows > 0)
		Join(large, batch);
	else
		FreeLarge(large);
	ApplyHandlerChanges(collector);
}

} // namespace pgq_ext::decode
