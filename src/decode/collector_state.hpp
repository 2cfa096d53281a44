// What the collector knows: shared by its two files, for transactions that are replayed at their commit (collector.cpp)
// and for those that are streamed while they run (collect_large.cpp).
#pragma once

#include "decode/collector.hpp"
#include "decode/large.hpp"
#include "decode/source_table.hpp"

namespace pgq_ext::decode {

struct Collector {
	MemoryContext context;
	ResourceOwner owner;
	OwnTables own;
	Batch *batch;
	List *handlers; // active, of Handler *
	bool tables_changed;
	SourceTable sources; // of the present batch
	uint64 generation;   // counts how often what is known of tables had to be forgotten
	PartitionMoves moves;

	XLogRecPtr converted; // commits before it are read for the second time
	XLogRecPtr *unfinished;
	int nunfinished;

	// Of the transaction that is being replayed.
	bool passed_over;
	Large *large;  // its rows go there; nullptr: into the batch
	Run *run;      // nullptr: the next row starts one
	bool touched;  // something of it is in the batch
	List *pending; // HandlerChange *, in force when it ends
};

// Whether the transaction, whose commit has been read, was converted in part.
bool IsUnfinished(const Collector *collector, const ReorderBufferTXN *txn);

// Whether it was converted altogether.
bool IsConverted(const Collector *collector, const ReorderBufferTXN *txn);

// The row that the change inserts into its table, perhaps toasted; nullptr when it is something else.
HeapTuple InsertedRow(Collector *collector, Relation relation, ReorderBufferChange *change);

// The row without anything outside it: the reorder buffer frees the TOAST chunks it assembled after the callback. A
// copy, or the row itself; FreeFlat frees the copy, whose context is that of all that is replayed at once.
HeapTuple Flat(HeapTuple row, Relation relation);
void FreeFlat(HeapTuple flat, HeapTuple row);

// The handler version in a change of pgq_handler; nullptr when there is nothing to keep. In the current memory context.
Handler *ChangedHandler(Relation relation, ReorderBufferChange *change);

// The transaction that is ending has inserted the row of this handler, or updated it. Copies it.
void NoteHandler(Collector *collector, const Handler &row, bool inserted);

// What it has so noted applies from here on.
void ApplyHandlerChanges(Collector *collector);

// Keeps a change of a large transaction.
void KeepChange(Collector *collector, Large *large, Relation relation, ReorderBufferChange *change);

// The large transaction has committed: decides what becomes of it.
void HandOver(Collector *collector, Large *large, const ReorderBufferTXN *txn);

} // namespace pgq_ext::decode
