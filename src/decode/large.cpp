// Large transactions on disk: see large.hpp.
#include "decode/large.hpp"

#include "decode/source.hpp"
#include "decode/source_table.hpp"
#include "pg/hash.hpp"

extern "C" {
#include "access/htup_details.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
}

namespace pgq_ext::decode {

// What stands before each row in the file.
struct RowHeader {
	int32 shape;
	TransactionId xid;
	uint32 length;
};

struct NewestEntry {
	Oid relid; // hash key
	int32 shape;
};

struct AbortedEntry {
	TransactionId xid; // hash key
};

// Runs body with the file's owner: the file outlives the transaction in which it is written.
template <typename Body>
static void
WithOwner(const Large *large, const Body &body)
{
	MemoryContext context = MemoryContextSwitchTo(large->context);
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = large->owner;
	body();
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(context);
}

Large *
NewLarge(MemoryContext parent, ResourceOwner owner)
{
	MemoryContext context = AllocSetContextCreate(parent, "pgq_ext large transaction", ALLOCSET_DEFAULT_SIZES);
	Large *large = (Large *)MemoryContextAllocZero(context, sizeof(Large));

	large->context = context;
	large->owner = owner;
	large->newest = pg::NewHash<Oid, NewestEntry>(context, "pgq_ext shapes", 64);
	WithOwner(large, [large]() { large->rows = BufFileCreateTemp(true); });
	return large;
}

void
CloseLarge(Large *large)
{
	if (large->rows != nullptr)
		WithOwner(large, [large]() { BufFileClose(large->rows); });
	large->rows = nullptr;
}

void
FreeLarge(Large *large)
{
	CloseLarge(large);
	MemoryContextDelete(large->context);
}

// source is in the transaction's memory.
static Shape *
NewShape(Large *large, Source *source)
{
	Shape *shape = (Shape *)MemoryContextAllocZero(large->context, sizeof(Shape));

	shape->number = large->nshapes;
	shape->source = source;
	if (large->nshapes == large->max_shapes) {
		large->max_shapes = Max(16, large->max_shapes * 2);
		Size size = large->max_shapes * sizeof(Shape *);
		large->shapes = (Shape **)(large->shapes == nullptr ? MemoryContextAlloc(large->context, size)
															: repalloc(large->shapes, size));
	}
	large->shapes[large->nshapes++] = shape;
	return shape;
}

static Shape *
AddShape(Large *large, Relation relation, bool requests, const List *captured)
{
	MemoryContext old = MemoryContextSwitchTo(large->context);
	Source *source = NewSource(relation, requests);
	Shape *shape = NewShape(large, source);
	shape->captured = list_copy(captured);
	auto *entry = (NewestEntry *)hash_search(large->newest, &source->relid, HASH_ENTER, nullptr);
	entry->shape = shape->number;
	MemoryContextSwitchTo(old);
	return shape;
}

Shape *
ShapeOf(Large *large, Relation relation, bool requests, uint64 generation)
{
	Oid relid = RelationGetRelid(relation);
	auto *entry = (NewestEntry *)hash_search(large->newest, &relid, HASH_FIND, nullptr);
	Shape *shape = entry != nullptr ? large->shapes[entry->shape] : nullptr;

	if (shape != nullptr && shape->generation == generation)
		return shape;
	MemoryContext scratch = AllocSetContextCreate(large->context, "pgq_ext shape as it is now", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	// The catalog is asked before anything is noted: that may fail when the transaction turns out to have been aborted.
	List *captured = CapturedBy(relation);
	if (shape == nullptr || !equal(shape->captured, captured) ||
		!SameColumns(shape->source, NewSource(relation, requests)))
		shape = AddShape(large, relation, requests, captured);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	shape->generation = generation;
	return shape;
}

void
AddLargeRow(Large *large, Shape *shape, TransactionId xid, HeapTuple row)
{
	RowHeader header = {shape->number, xid, row->t_len};

	shape->nrows++;
	large->bytes += row->t_len;
	WithOwner(large, [large, &header, row]() {
		BufFileWrite(large->rows, &header, sizeof(header));
		BufFileWrite(large->rows, row->t_data, row->t_len);
	});
}

void
NoteAborted(Large *large, TransactionId xid)
{
	if (large->aborted == nullptr)
		large->aborted =
			pg::NewHash<TransactionId, AbortedEntry>(large->context, "pgq_ext aborted subtransactions", 64);
	hash_search(large->aborted, &xid, HASH_ENTER, nullptr);
}

bool
IsAborted(const Large *large, TransactionId xid)
{
	return large->aborted != nullptr && hash_search(large->aborted, &xid, HASH_FIND, nullptr) != nullptr;
}

// The handlers that apply to a shape's rows.
static void
SettleShape(Shape *shape, const List *handlers)
{
	Source *source = shape->source;
	ListCell *lc;

	source->handlers = (Handler **)palloc(Max(1, list_length(handlers)) * sizeof(Handler *));
	foreach (lc, handlers) {
		Handler *handler = (Handler *)lfirst(lc);
		if (list_member_oid(shape->captured, handler->source))
			source->handlers[source->nhandlers++] = handler;
	}
}

static bool
IsCaptured(const Shape *shape)
{
	return shape->source->requests || shape->source->nhandlers > 0;
}

void
Settle(Large *large, List *handlers)
{
	MemoryContext old = MemoryContextSwitchTo(large->context);

	for (int i = 0; i < large->nshapes; i++) {
		Shape *shape = large->shapes[i];
		SettleShape(shape, handlers);
		if (!IsCaptured(shape))
			continue;
		large->nrows += shape->nrows;
		large->capacity += shape->nrows * Max(1, shape->source->nhandlers);
	}
	MemoryContextSwitchTo(old);
	Rewind(large);
}

void
Rewind(Large *large)
{
	if (BufFileSeek(large->rows, 0, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read the rows of a large transaction")));
}

void
AddSettledRow(Large *large, Source *source, HeapTuple row)
{
	Shape *shape = large->nshapes > 0 ? large->shapes[large->nshapes - 1] : nullptr;

	if (shape == nullptr || shape->source != source)
		shape = NewShape(large, source);
	AddLargeRow(large, shape, InvalidTransactionId, row);
}

static void
Read(Large *large, void *to, Size size)
{
	if (BufFileRead(large->rows, to, size) != size)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read the rows of a large transaction")));
}

static bool
ReadHeader(Large *large, RowHeader *header)
{
	size_t read = BufFileRead(large->rows, header, sizeof(*header));

	if (read != 0 && read != sizeof(*header))
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read the rows of a large transaction")));
	return read != 0;
}

// Reads the next row into *row, whose memory grows as needed; false at the end.
static bool
ReadRow(Large *large, RowHeader *header, HeapTuple row, uint32 *room)
{
	CHECK_FOR_INTERRUPTS();
	if (!ReadHeader(large, header))
		return false;
	if (header->length > *room) {
		if (row->t_data != nullptr)
			pfree(row->t_data);
		*room = Max(header->length, 8192);
		row->t_data = (HeapTupleHeader)palloc_extended(*room, MCXT_ALLOC_HUGE);
	}
	Read(large, row->t_data, header->length);
	row->t_len = header->length;
	return true;
}

// Whether the row is an event or a request.
static bool
Counts(const Large *large, const RowHeader &header)
{
	return IsCaptured(large->shapes[header.shape]) && !IsAborted(large, header.xid);
}

bool
TakePiece(Large *large, Batch *batch, int64 max_rows, int64 max_bytes)
{
	HeapTupleData row = {};
	RowHeader header;
	uint32 room = 0;
	int64 bytes = 0;
	Run *run = nullptr;
	bool more = true;

	ItemPointerSetInvalid(&row.t_self);
	while (batch->nrows < max_rows && bytes < max_bytes && (more = ReadRow(large, &header, &row, &room))) {
		bytes += row.t_len;
		if (!Counts(large, header))
			continue;
		Source *source = large->shapes[header.shape]->source;
		if (run == nullptr || run->source != source)
			run = AddRun(batch, source, large->commit_lsn, large->committed_at);
		AddRow(batch, run, &row);
	}
	if (room > 0)
		pfree(row.t_data);
	return !more;
}

void
PassOver(Large *large, int64 nrows)
{
	HeapTupleData row = {};
	RowHeader header;
	uint32 room = 0;

	while (nrows > 0 && ReadRow(large, &header, &row, &room))
		nrows -= Counts(large, header);
	if (room > 0)
		pfree(row.t_data);
}

} // namespace pgq_ext::decode
