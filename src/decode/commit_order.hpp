// The order in which transactions committed, read from the WAL itself.
//
// For the stretch before a new slot decodes: rows of that stretch are found in their tables, and belong to an event
// exactly when their transaction's commit is found here.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/snapshot.h"
}

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

// The same without that WAL: of the transactions that had ended in the snapshot, those that had not in the one that
// converted is the text of, and that did not commit at to or behind it. In the order of their xids, and subtransactions
// for themselves: that's what there is to know. The WAL from to on must be there; snapshot must outlive the result.
// nullptr when more transactions lie between than can be told apart.
CommitOrder *CommitsByXid(const char *converted, Snapshot snapshot, XLogRecPtr to);

// Whether a transaction or subtransaction committed there, and its commit. By xid it must be one that is known to have
// committed, if it has ended.
bool FindCommit(const CommitOrder *commits, TransactionId xid, Commit *commit);

// Waits until all of them are visible to new snapshots.
void WaitUntilVisible(const CommitOrder *commits);

} // namespace pgq_ext::decode
