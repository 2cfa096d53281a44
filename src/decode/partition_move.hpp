// Telling cross-partition UPDATEs from inserts.
//
// An UPDATE that moves a row to another partition is a DELETE and an INSERT in the WAL, and the row is no event. The
// delete's record says what it is; the decoded change does not, so the reader of the WAL notes its position, and the
// insert that follows in the transaction, into a partition of the same table, is taken for the other half.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/xlogreader.h"
#include "replication/reorderbuffer.h"
#include "utils/hsearch.h"
}

namespace pgq_ext::decode {

struct PartitionMoves {
	HTAB *deletes; // first halves that were read, by LSN
	Oid root;      // of the table whose next insert, in the transaction being replayed, is a second half
	Oid left;      // the partition that the row has left
};

// Lives in the current memory context.
PartitionMoves NewPartitionMoves();

// Whether the record is the first half of a move.
bool IsMoveRecord(XLogReaderState *record);

// The record at lsn is a first half.
void NoteMove(PartitionMoves *moves, XLogRecPtr lsn);

// Forgets first halves before lsn: their transactions have ended.
void ForgetMovesBefore(PartitionMoves *moves, XLogRecPtr lsn);

// Whether the change is the second half of a move. To be asked of every change, in order.
bool IsMovedRow(PartitionMoves *moves, Relation relation, const ReorderBufferChange *change);

// The transaction being replayed has ended.
inline void
EndMoves(PartitionMoves *moves)
{
	moves->root = InvalidOid;
}

} // namespace pgq_ext::decode
