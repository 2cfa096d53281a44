// Which transactions had not ended at a position in the WAL.
//
// Followed while the WAL is read, from the records by which transactions end and those by which the server tells which
// are running. With the position, it says for every row of a table whether its transaction had committed by then, even
// when the WAL is no longer there to tell.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/xlogreader.h"
}

namespace pgq_ext::decode {

struct OpenXids;

// In the current memory context. recorded is what SnapshotOf told at that position. Where it is nullptr, nothing is known
// before the first record of running transactions.
OpenXids *NewOpenXids(XLogRecPtr position, const char *recorded);

// Takes note of a record, if it is behind the position. All records from there on must be given, in order.
void NoteRecord(OpenXids *open, XLogReaderState *record);

// As the text of a pg_snapshot: what has ended at the position of the last record is visible in it. In the current memory
// context; nullptr when not known, or too much to be recorded with each batch.
char *SnapshotOf(const OpenXids *open);

// The text of the same snapshot, but as if these xids had not ended; however many they are.
char *WithOpen(const char *snapshot, const TransactionId *xids, int nxids);

// Whether the transaction had ended at the position. It must not be further away than xids can be compared.
bool HasEnded(const OpenXids *open, TransactionId xid);

} // namespace pgq_ext::decode
