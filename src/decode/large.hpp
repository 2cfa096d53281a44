// A transaction too large to be converted at once: its rows, kept on disk until it is known whether it commits and which
// handlers apply, and then handed out in pieces.
//
// The server streams us such a transaction while it runs, as soon as it takes more than decoding_work_mem. Rows come
// and go in the order of the WAL, which is the same each time that the transaction is read: a process that starts in
// the middle of its pieces reads it again and goes on behind those that were done.
#pragma once

#include "decode/event.hpp"

extern "C" {
#include "storage/buffile.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
}

namespace pgq_ext::decode {

// A table as one stretch of the transaction saw it.
struct Shape {
	int number;
	Source *source; // its handlers are not known before the transaction commits
	List *captured; // oids: handlers of these tables apply, the table itself or those it is a partition of
	int64 nrows;
	uint64 generation; // of the caller's knowledge of tables when it was last compared
};

// A row of pgq_handler that the transaction wrote.
struct HandlerRow {
	Handler *handler;
	bool inserted; // not updated
	TransactionId xid;
};

struct Large {
	MemoryContext context; // holds everything, this struct too
	ResourceOwner owner;   // of the file
	BufFile *rows;
	Shape **shapes;
	int nshapes, max_shapes;
	HTAB *newest;             // the newest shape of each table
	HTAB *aborted;            // subtransactions whose rows don't count; nullptr: none
	List *handler_rows;       // of HandlerRow *
	int64 bytes;              // of all rows
	Oid move_root, move_left; // PartitionMoves between two streams of the transaction

	// Once it has committed.
	TransactionId *xids; // its own, then those of its subtransactions
	int nxids;
	XLogRecPtr commit_lsn;
	TimestampTz committed_at;
	int64 nrows;    // events and requests, and rows of subtransactions that were rolled back
	int64 capacity; // it gives no more jobs than this
};

// owner must outlive it.
Large *NewLarge(MemoryContext parent, ResourceOwner owner);
void FreeLarge(Large *large);

// Closes the file, when all rows have been taken.
void CloseLarge(Large *large);

// The shape for rows of relation. What was found before is taken as long as generation is the same.
Shape *ShapeOf(Large *large, Relation relation, bool requests, uint64 generation);

// Appends a row, without anything toasted outside it.
void AddLargeRow(Large *large, Shape *shape, TransactionId xid, HeapTuple row);

// The subtransaction was rolled back.
void NoteAborted(Large *large, TransactionId xid);
bool IsAborted(const Large *large, TransactionId xid);

// The transaction has committed, when these handlers applied: rows are to be taken from the first one on.
void Settle(Large *large, List *handlers);

// Instead of all of the above, for a transaction that is known to have committed: appends a row from a source (in large's
// context) whose handlers are known. Rewind before rows are taken.
void AddSettledRow(Large *large, Source *source, HeapTuple row);
void Rewind(Large *large);

// Copies the next rows that count into the batch, up to max_rows of them, or what is among about max_bytes of all rows; true
// once there are no more. The batch refers to the transaction until it is reset.
bool TakePiece(Large *large, Batch *batch, int64 max_rows, int64 max_bytes);

// Passes over the first rows that TakePiece would give.
void PassOver(Large *large, int64 nrows);

} // namespace pgq_ext::decode
