// From decoded changes to a batch of events: see collector.hpp.
#include "decode/collector.hpp"

#include "decode/collector_state.hpp"
#include "decode/handler_row.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/heaptoast.h"
#include "utils/inval.h"
#include "utils/resowner.h"
}

namespace pgq_ext::decode {

static Collector *invalidated; // the process has one collector; relcache callbacks have no way to pass it

static void
RelcacheCallback(Datum, Oid)
{
	if (invalidated == nullptr)
		return;
	ForgetSources(invalidated);
	invalidated->tables_changed = true;
}

Collector *
NewCollector(const OwnTables &own, Batch *batch)
{
	Collector *collector = (Collector *)palloc0(sizeof(Collector));

	collector->context = CurrentMemoryContext;
	collector->owner = CurrentResourceOwner;
	collector->own = own;
	collector->batch = batch;
	collector->tables_changed = true;
	collector->generation = 1;
	collector->moves = NewPartitionMoves();
	if (invalidated == nullptr)
		CacheRegisterRelcacheCallback(RelcacheCallback, (Datum)0);
	invalidated = collector;
	return collector;
}

void
AddHandler(Collector *collector, Handler *handler)
{
	MemoryContext old = MemoryContextSwitchTo(collector->context);

	collector->handlers = lappend(collector->handlers, handler);
	collector->tables_changed = true;
	MemoryContextSwitchTo(old);
	ForgetSources(collector);
}

List *
ActiveHandlers(Collector *collector)
{
	return collector->handlers;
}

bool
TakeTablesChanged(Collector *collector)
{
	bool changed = collector->tables_changed;

	collector->tables_changed = false;
	return changed;
}

// The table itself lives in the batch and is forgotten there; runs keep pointing at the sources they were made with.
void
ForgetSources(Collector *collector)
{
	collector->sources.entries = nullptr;
	collector->generation++;
	collector->run = nullptr;
}

PartitionMoves *
Moves(Collector *collector)
{
	return &collector->moves;
}

void
ResumeBehind(Collector *collector, XLogRecPtr converted, const XLogRecPtr *unfinished, int nunfinished)
{
	Size size = Max(1, nunfinished) * sizeof(XLogRecPtr);

	collector->converted = converted;
	collector->unfinished = (XLogRecPtr *)MemoryContextAlloc(collector->context, size);
	memcpy(collector->unfinished, unfinished, nunfinished * sizeof(XLogRecPtr));
	collector->nunfinished = nunfinished;
}

bool
IsUnfinished(const Collector *collector, const ReorderBufferTXN *txn)
{
	for (int i = 0; i < collector->nunfinished; i++)
		if (collector->unfinished[i] == txn->final_lsn)
			return true;
	return false;
}

bool
IsConverted(const Collector *collector, const ReorderBufferTXN *txn)
{
	return txn->final_lsn < collector->converted && !IsUnfinished(collector, txn);
}

static Handler *
ActiveOrPending(Collector *collector, int64 id)
{
	ListCell *lc;

	foreach (lc, collector->handlers)
		if (((Handler *)lfirst(lc))->id == id)
			return (Handler *)lfirst(lc);
	foreach (lc, collector->pending)
		if (((HandlerChange *)lfirst(lc))->handler->id == id)
			return ((HandlerChange *)lfirst(lc))->handler;
	return nullptr;
}

void
NoteHandler(Collector *collector, const Handler &row, bool inserted)
{
	MemoryContext old = MemoryContextSwitchTo(collector->context);
	Handler *handler = inserted ? CopyHandler(row) : row.retired ? ActiveOrPending(collector, row.id) : nullptr;

	if (handler != nullptr) {
		HandlerChange *change = (HandlerChange *)palloc0(sizeof(HandlerChange));
		change->handler = handler;
		change->retired = row.retired;
		collector->pending = lappend(collector->pending, change);
	}
	MemoryContextSwitchTo(old);
}

Handler *
ChangedHandler(Relation relation, ReorderBufferChange *change)
{
	HeapTuple row = pg::DecodedNewTuple(change);
	TupleDesc desc = RelationGetDescr(relation);

	return row != nullptr && !IsDetached(desc, row) ? HandlerFromRow(desc, row) : nullptr;
}

HeapTuple
InsertedRow(Collector *collector, Relation relation, ReorderBufferChange *change)
{
	bool moved = IsMovedRow(&collector->moves, relation, change);

	return !moved && change->action == REORDER_BUFFER_CHANGE_INSERT ? pg::DecodedNewTuple(change) : nullptr;
}

HeapTuple
Flat(HeapTuple row, Relation relation)
{
	return HeapTupleHasExternal(row) ? toast_flatten_tuple(row, RelationGetDescr(relation)) : row;
}

void
FreeFlat(HeapTuple flat, HeapTuple row)
{
	if (flat != row)
		heap_freetuple(flat);
}

void
CollectBegin(Collector *collector, ReorderBufferTXN *txn)
{
	collector->passed_over = IsConverted(collector, txn);
	collector->large = IsUnfinished(collector, txn) ? NewLarge(collector->context, collector->owner) : nullptr;
}

static void
CollectRow(Collector *collector, ReorderBufferTXN *txn, Relation relation, HeapTuple row)
{
	bool requests = RelationGetRelid(relation) == collector->own.request;
	Source *source =
		FindSource(&collector->sources, collector->batch->context, relation, requests, collector->handlers);

	if (source == nullptr)
		return;
	if (collector->run == nullptr || collector->run->source != source)
		collector->run = AddRun(collector->batch, source, txn->final_lsn, txn->xact_time.commit_time);
	HeapTuple flat = Flat(row, relation);
	AddRow(collector->batch, collector->run, flat);
	FreeFlat(flat, row);
	collector->touched = true;
}

void
CollectChange(Collector *collector, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	if (collector->passed_over)
		return;
	if (collector->large != nullptr) {
		KeepChange(collector, collector->large, relation, change);
	} else if (RelationGetRelid(relation) == collector->own.handler) {
		Handler *handler = ChangedHandler(relation, change);
		if (handler != nullptr)
			NoteHandler(collector, *handler, change->action == REORDER_BUFFER_CHANGE_INSERT);
	} else {
		HeapTuple row = InsertedRow(collector, relation, change);
		if (row != nullptr)
			CollectRow(collector, txn, relation, row);
	}
}

static void
ApplyHandlerChange(Collector *collector, HandlerChange *change)
{
	Batch *batch = collector->batch;

	if (change->retired)
		collector->handlers = list_delete_ptr(collector->handlers, change->handler);
	else
		AddHandler(collector, change->handler);
	collector->tables_changed = true;

	MemoryContext old = MemoryContextSwitchTo(batch->context);
	HandlerChange *copy = (HandlerChange *)palloc(sizeof(HandlerChange));
	*copy = *change;
	batch->handler_changes = lappend(batch->handler_changes, copy);
	MemoryContextSwitchTo(old);
}

void
ApplyHandlerChanges(Collector *collector)
{
	ListCell *lc;

	foreach (lc, collector->pending)
		ApplyHandlerChange(collector, (HandlerChange *)lfirst(lc));
	if (collector->pending != NIL)
		ForgetSources(collector);
	list_free_deep(collector->pending);
	collector->pending = NIL;
}

void
CollectCommit(Collector *collector, ReorderBufferTXN *txn)
{
	if (collector->large != nullptr) {
		HandOver(collector, collector->large, txn);
	} else {
		if (collector->touched || collector->pending != NIL)
			AddXid(collector->batch, txn->xid);
		ApplyHandlerChanges(collector);
	}
	collector->large = nullptr;
	collector->run = nullptr;
	collector->touched = false;
	EndMoves(&collector->moves);
}

} // namespace pgq_ext::decode
