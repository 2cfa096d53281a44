// What committed before a new slot began to decode, found in the tables.
//
// A slot can only decode transactions that begin after it was asked for; making it waits for the others. Handlers may be
// defined and events committed meanwhile, and after a slot was lost, since. The order of their commits is read from the
// WAL, the rows from their tables, and both together give the very events that decoding would have given, as long as
// rows are only ever inserted.
#pragma once

#include "decode/collector.hpp"
#include "decode/large.hpp"
#include "queue/large_transaction.hpp"

namespace pgq_ext::queue {

// A large transaction that was converted in part. Its rows are collected again, those of the first part, too.
struct GapLarge {
	const LargeTransaction *row;
	decode::Large *rows;
};

struct Gap {
	XLogRecPtr from;         // what committed before has become jobs, or makes none here
	XLogRecPtr converted_to; // and so has what committed before this, but for the large transactions
	const List *large;       // of GapLarge *
	XLogRecPtr to;           // the slot decodes everything from here on
	const char *converted;   // the transactions that ended before from, as the text of a pg_snapshot; nullptr: unknown
	List *handlers_before;   // ids (of ReadHandlerIds) visible before the slot was asked for
};

enum class CaughtUp {
	InOrder, // by the WAL of the gap: every event, in commit order
	ByXids,  // that WAL is gone: every event, in the order of their transactions' xids
	Not,     // nor is it known what was converted: only open requests are in the batch
};

// Fills the empty batch with the events and requests of the gap, and gives the collector the handlers that apply at its
// end. Needs a transaction.
CaughtUp CatchUp(Oid schema, decode::Collector *collector, decode::Batch *batch, const Gap &gap);

} // namespace pgq_ext::queue
