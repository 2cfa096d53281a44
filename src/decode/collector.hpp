// Which tables are captured at the stream's position, and what becomes of their decoded changes.
//
// The output plugin hands every change of a transaction that committed to the collector; it keeps the rows inserted into
// captured tables, and follows pgq_handler, so that a handler applies from the commit after its definition on.
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

// The callbacks' side: one change of a committed transaction, then its end.
void CollectChange(Collector *collector, ReorderBufferTXN *txn, Relation relation,
				   ReorderBufferChange *change);
void CollectCommit(Collector *collector, ReorderBufferTXN *txn);

// The source for rows of relation (with ancestors when it is a partition), or nullptr when nobody captures it.
// Also used by the catch-up, outside decoding. Belongs to the batch.
Source *SourceFor(Collector *collector, Relation relation);

} // namespace pgq_ext::decode
