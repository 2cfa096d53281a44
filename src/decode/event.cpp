// Batches of events: see event.hpp.
#include "decode/event.hpp"

namespace pgq_ext::decode {

// Rows of a batch stay in memory up to here; a larger transaction spills to a temporary file.
constexpr int kBatchMemoryKb = 16 * 1024;

static void
StartRows(Batch *batch)
{
	batch->rows = tuplestore_begin_heap(false, true, kBatchMemoryKb);
}

Batch *
NewBatch(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "pgq_ext batch", ALLOCSET_DEFAULT_SIZES);
	Batch *batch = (Batch *)MemoryContextAllocZero(parent, sizeof(Batch));

	batch->context = context;
	MemoryContext old = MemoryContextSwitchTo(context);
	StartRows(batch);
	MemoryContextSwitchTo(old);
	return batch;
}

// A retired handler is needed no longer than the batch that brought its retirement.
static void
FreeRetired(List *handler_changes)
{
	ListCell *lc;

	foreach (lc, handler_changes) {
		HandlerChange *change = (HandlerChange *)lfirst(lc);
		if (!change->retired)
			continue;
		pfree(change->handler->name);
		pfree(change->handler->queue);
		pfree(change->handler);
	}
}

void
ResetBatch(Batch *batch)
{
	MemoryContext context = batch->context;
	XLogRecPtr end = batch->end;

	FreeRetired(batch->handler_changes);
	tuplestore_end(batch->rows);
	MemoryContextReset(context);
	*batch = Batch{};
	batch->context = context;
	batch->end = end;
	MemoryContext old = MemoryContextSwitchTo(context);
	StartRows(batch);
	MemoryContextSwitchTo(old);
}

Run *
AddRun(Batch *batch, Source *source, XLogRecPtr lsn, TimestampTz committed_at)
{
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	Run *run = (Run *)palloc0(sizeof(Run));

	run->source = source;
	run->lsn = lsn;
	run->committed_at = committed_at;
	batch->runs = lappend(batch->runs, run);
	MemoryContextSwitchTo(old);
	return run;
}

void
AddRow(Batch *batch, Run *run, HeapTuple row)
{
	MemoryContext old = MemoryContextSwitchTo(batch->context);

	Assert(run == llast(batch->runs));
	tuplestore_puttuple(batch->rows, row);
	run->nrows++;
	batch->nrows++;
	MemoryContextSwitchTo(old);
}

void
AddXid(Batch *batch, TransactionId xid)
{
	if (batch->nxids == batch->max_xids) {
		batch->max_xids = Max(64, batch->max_xids * 2);
		batch->xids = batch->xids == nullptr
						  ? (TransactionId *)MemoryContextAlloc(batch->context, batch->max_xids * sizeof(TransactionId))
						  : (TransactionId *)repalloc(batch->xids, batch->max_xids * sizeof(TransactionId));
	}
	batch->xids[batch->nxids++] = xid;
}

} // namespace pgq_ext::decode
