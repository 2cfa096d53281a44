// Rows of pgq_large_transaction: how far each large transaction has been converted.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

struct LargeTransaction {
	int64 first_position; // its jobs have positions from here
	int64 next_position;  // for its next job
	int64 end_position;   // and below this one
	int64 rows_converted; // of its events and requests, from the first one on
	XLogRecPtr commit_lsn;
	TimestampTz committed_at;
	TransactionId *xids; // its own and its subtransactions'; as read, sorted
	int nxids;
};

// All of them, as LargeTransaction * in the order of their commits, in the current memory context.
List *ReadLargeTransactions(Oid schema);

// Whether it is that transaction, or one of its subtransactions. large is as read.
bool HasXid(const LargeTransaction &large, TransactionId xid);

void AddLargeTransaction(Oid schema, const LargeTransaction &large);

// Records next_position and rows_converted.
void AdvanceLargeTransaction(Oid schema, const LargeTransaction &large);

void RemoveLargeTransaction(Oid schema, const LargeTransaction &large);

} // namespace pgq_ext::queue
