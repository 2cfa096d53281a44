// The progress row: how far the WAL has become jobs. Written in the transaction that writes the jobs.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

struct Progress {
	ItemPointerData tid; // of the row's present version, to write the next one without looking for it
	XLogRecPtr installed_lsn;
	XLogRecPtr last_lsn; // Invalid: no slot has been made yet
	char *converted;     // the transactions that ended before last_lsn, as the text of a pg_snapshot; nullptr: unknown
	int64 next_position;
	int64 position_limit; // where we have left the sequence of position.hpp; 0: not known
	bool same_cluster; // the positions were written by this very cluster and database, not by what it was copied from
};

// Reads the row; converted is in the current memory context. Needs a transaction.
Progress ReadProgress(Oid schema);

// The transactions that have ended now, as converted tells them. Needs an active snapshot. In the current memory context.
char *PresentSnapshot();

// Writes last_lsn, converted and next_position (and whose they are), and remembers the new version's tid.
// Finds the row anew when it is not where it was, as after VACUUM FULL.
void WriteProgress(Oid schema, Progress *progress);

} // namespace pgq_ext::queue
