// Which tables are captured at the stream's position, and what becomes of their decoded changes.
//
// The output plugin hands every change of a transaction that committed to the collector; it keeps the rows inserted into
// captured tables, and follows pgq_handler, so that a handler applies from the commit after its definition on. Of a large
// transaction, which comes while it is running, all rows inserted are kept in a file of its own: see large.hpp.
// Its functions run inside the plugin's callbacks, under a historic snapshot: no SQL, and nothing of theirs may be left
// in the memory of the callback's transaction.
#pragma once

#include "decode/event.hpp"
#include "decode/partition_move.hpp"

extern "C" {
#include "replication/reorderbuffer.h"
}

namespace pgq_ext::decode {

// Our own tables, which the stream treats specially.
struct OwnTables {
	Oid handler;
	Oid request;
};

struct Collector;

// Makes a collector for the given tables, with no handlers. Lives in the current memory context.
Collector *NewCollector(const OwnTables &own, Batch *batch);

// Adds a handler that applies from the stream's present position on.
void AddHandler(Collector *collector, Handler *handler);

// The handlers that apply at the stream's position.
List *ActiveHandlers(Collector *collector);

// True once after handlers, or the definition of any table, may have changed.
bool TakeTablesChanged(Collector *collector);

// Forgets what is known of tables that may have changed shape, and of the batch that was reset.
void ForgetSources(Collector *collector);

// The cross-partition UPDATEs it knows of; the reader of the WAL notes them there.
PartitionMoves *Moves(Collector *collector);

// What was committed before converted has been converted, and is passed over when it is read again; but for the
// transactions that committed at one of the positions in unfinished, of which a part is still to be done.
void ResumeBehind(Collector *collector, XLogRecPtr converted, const XLogRecPtr *unfinished, int nunfinished);

// The callbacks' side: one committed transaction after the other, change by change, from its begin to its commit.
void CollectBegin(Collector *collector, ReorderBufferTXN *txn);
void CollectChange(Collector *collector, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change);
void CollectCommit(Collector *collector, ReorderBufferTXN *txn);

// And those transactions that are streamed while they run, in several stretches of changes. txn of an abort may be one of
// its subtransactions; everything else is called with the transaction itself.
void CollectStreamStart(Collector *collector, ReorderBufferTXN *txn);
void CollectStreamed(Collector *collector, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change);
void CollectStreamStop(Collector *collector, ReorderBufferTXN *txn);
void CollectStreamAbort(Collector *collector, ReorderBufferTXN *txn);
void CollectStreamCommit(Collector *collector, ReorderBufferTXN *txn);

} // namespace pgq_ext::decode
