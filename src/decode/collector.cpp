// From decoded changes to a batch of events: see collector.hpp.
#include "decode/collector.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/heaptoast.h"
#include "catalog/partition.h"
#include "executor/spi.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
}

namespace pgq_ext::decode {

struct SourceEntry {
	Oid relid; // hash key
	Source *source; // nullptr: not captured
};

struct Collector {
	MemoryContext context;
	OwnTables own;
	Batch *batch;
	List *handlers; // active, of Handler *
	bool tables_changed;
	HTAB *sources; // by relid, of the present batch; nullptr: build anew
	PartitionMoves moves;

	// Of the transaction that is being replayed.
	Run *run;      // nullptr: the next row starts one
	bool touched;  // something of it is in the batch
	List *pending;  // HandlerChange *, in force when it ends
};

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
	collector->own = own;
	collector->batch = batch;
	collector->tables_changed = true;
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
	collector->sources = nullptr;
	collector->run = nullptr;
}

PartitionMoves *
Moves(Collector *collector)
{
	return &collector->moves;
}

static Source *
BuildSource(Collector *collector, Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	List *captured = list_make1_oid(relid);
	List *handlers = NIL;
	ListCell *lc;

	if (relation->rd_rel->relispartition)
		captured = list_concat(captured, get_partition_ancestors(relid));
	foreach (lc, collector->handlers) {
		Handler *handler = (Handler *)lfirst(lc);
		if (list_member_oid(captured, handler->source))
			handlers = lappend(handlers, handler);
	}
	if (handlers == NIL && relid != collector->own.request)
		return nullptr;

	Source *source = (Source *)palloc0(sizeof(Source));
	source->relid = relid;
	source->requests = relid == collector->own.request;
	source->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	source->nhandlers = list_length(handlers);
	source->handlers = (Handler **)palloc0(Max(1, source->nhandlers) * sizeof(Handler *));
	foreach (lc, handlers)
		source->handlers[foreach_current_index(lc)] = (Handler *)lfirst(lc);
	return source;
}

static HTAB *
NewSources(MemoryContext context)
{
	HASHCTL ctl = {};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(SourceEntry);
	ctl.hcxt = context;
	return hash_create("pgq_ext sources", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Source *
SourceFor(Collector *collector, Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	bool found;

	if (collector->sources == nullptr)
		collector->sources = NewSources(collector->batch->context);
	SourceEntry *entry = (SourceEntry *)hash_search(collector->sources, &relid, HASH_ENTER, &found);
	if (!found) {
		entry->source = nullptr;
		MemoryContext old = MemoryContextSwitchTo(collector->batch->context);
		Source *source = BuildSource(collector, relation);
		MemoryContextSwitchTo(old);
		if (collector->sources == nullptr) // invalidated while looking for ancestors
			return source;
		entry->source = source;
	}
	return entry->source;
}

// A row of pgq_handler, in the collector's memory.
static Handler *
HandlerFromRow(Collector *collector, TupleDesc desc, HeapTuple row)
{
	MemoryContext old = MemoryContextSwitchTo(collector->context);
	Handler *handler = (Handler *)palloc0(sizeof(Handler));
	bool isnull;

	auto column = [&](const char *name) {
		Datum value = heap_getattr(row, SPI_fnumber(desc, name), desc, &isnull);
		return value;
	};
	handler->id = DatumGetInt64(column("handler_id"));
	handler->name = TextDatumGetCString(column("handler"));
	handler->queue = TextDatumGetCString(column("queue"));
	handler->source = DatumGetObjectId(column("source"));
	handler->rule = DatumGetObjectId(column("rule"));
	handler->owner = DatumGetObjectId(column("owner"));
	column("retired_xid");
	handler->retired = !isnull;
	MemoryContextSwitchTo(old);
	return handler;
}

// A handler that was restored from a dump does not apply before it is adopted, which inserts it anew.
static bool
IsDetached(TupleDesc desc, HeapTuple row)
{
	return heap_attisnull(row, SPI_fnumber(desc, "created_xid"), desc);
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

static void
CollectHandlerChange(Collector *collector, TupleDesc desc, HeapTuple row, bool inserted)
{
	Handler *handler = HandlerFromRow(collector, desc, row);
	bool retired = handler->retired;

	if (!inserted) {
		Handler *known = ActiveOrPending(collector, handler->id);
		if (!retired || known == nullptr)
			return;
		handler = known;
	}
	MemoryContext old = MemoryContextSwitchTo(collector->context);
	HandlerChange *change = (HandlerChange *)palloc0(sizeof(HandlerChange));
	change->handler = handler;
	change->retired = retired;
	collector->pending = lappend(collector->pending, change);
	MemoryContextSwitchTo(old);
}

void
CollectChange(Collector *collector, ReorderBufferTXN *txn, Relation relation,
			  ReorderBufferChange *change)
{
	bool inserted = change->action == REORDER_BUFFER_CHANGE_INSERT;
	HeapTuple row = pg::DecodedNewTuple(change);

	if (RelationGetRelid(relation) == collector->own.handler) {
		if (row != nullptr && !IsDetached(RelationGetDescr(relation), row))
			CollectHandlerChange(collector, RelationGetDescr(relation), row, inserted);
		return;
	}
	if (IsMovedRow(&collector->moves, relation, change) || !inserted || row == nullptr)
		return;

	Source *source = SourceFor(collector, relation);
	if (source == nullptr)
		return;
	if (collector->run == nullptr || collector->run->source != source)
		collector->run =
			AddRun(collector->batch, source, txn->final_lsn, txn->xact_time.commit_time);
	// The reorder buffer frees the TOAST chunks it assembled after this callback.
	if (HeapTupleHasExternal(row))
		row = toast_flatten_tuple(row, RelationGetDescr(relation));
	AddRow(collector->batch, collector->run, row);
	collector->touched = true;
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
CollectCommit(Collector *collector, ReorderBufferTXN *txn)
{
	ListCell *lc;

	if (collector->touched || collector->pending != NIL)
		AddXid(collector->batch, txn->xid);
	foreach (lc, collector->pending)
		ApplyHandlerChange(collector, (HandlerChange *)lfirst(lc));
	if (collector->pending != NIL)
		ForgetSources(collector);
	list_free_deep(collector->pending);
	collector->pending = NIL;
	collector->run = nullptr;
	collector->touched = false;
	EndMoves(&collector->moves);
}

} // namespace pgq_ext::decode
