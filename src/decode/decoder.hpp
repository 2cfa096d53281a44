// Reads the WAL of this database and fills batches with events, in commit order.
//
// Lives as long as its process holds the slot. An error leaves it unusable: the process exits and a new one starts.
#pragma once

#include "decode/collector.hpp"
#include "decode/event.hpp"

namespace pgq_ext::decode {

struct Decoder;

// Starts decoding at the transactions that commit after start. The process must hold the slot (AcquireSlot), and
// start must not be before the slot's confirmed position. converted is what Converted told at known_at, which is start or
// behind it; nullptr if that is not known. Lives in the current memory context.
Decoder *StartDecoding(Collector *collector, XLogRecPtr start, XLogRecPtr known_at, const char *converted);

// Reads on until the batch is full or the flushed WAL has been read: true in the latter case.
bool ReadWal(Decoder *decoder, Batch *batch);

// Position behind the last record read: every earlier commit has been handed to the batch.
XLogRecPtr Position(const Decoder *decoder);

// The same as the text of a pg_snapshot, in which every transaction is visible that ended before the position; nullptr
// when that is not known. In the current memory context.
char *Converted(const Decoder *decoder);

} // namespace pgq_ext::decode
