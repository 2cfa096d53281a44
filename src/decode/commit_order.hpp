// The order in which transactions committed, read from the WAL itself.
//
// For the stretch before a new slot decodes: rows of that stretch are found in their tables, and belong to an event
// exactly when their transaction's commit is found here.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::decode {

struct CommitOrder;

struct Commit {
	uint32 order; // from 1, rising
	XLogRecPtr lsn;
	TimestampTz at;
};

// Reads the commits of this database with from <= LSN < to; in the current memory context.
// nullptr when the WAL from there on is no longer (completely) there.
CommitOrder *ReadCommitOrder(XLogRecPtr from, XLogRecPtr to);

// The commit of a transaction or subtransaction; nullptr when it did not commit in that stretch.
const Commit *FindCommit(const CommitOrder *commits, TransactionId xid);

// Waits until all of them are visible to new snapshots.
void WaitUntilVisible(const CommitOrder *commits);

} // namespace pgq_ext::decode
