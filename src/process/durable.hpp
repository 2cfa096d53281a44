// Which progress is durable: the enqueuer commits without waiting for the disk, and may tell its slot only what a crash
// can't take back.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::process {

// Commits of progress that may not be on disk yet, oldest first. When it is full the newest is merged into the last.
struct DurableQueue {
	static constexpr int kMax = 64;
	struct Written {
		XLogRecPtr last_lsn;   // what the commit says has become jobs
		XLogRecPtr commit_end; // and where the commit's record ends
	} written[kMax];
	int n;
	TimestampTz confirmed_at;
};

void NoteWritten(DurableQueue *queue, XLogRecPtr last_lsn, XLogRecPtr commit_end);

// Takes out what is durable now and returns its newest last_lsn; Invalid when there is nothing (new).
XLogRecPtr TakeDurable(DurableQueue *queue);

struct Enqueuer;

// Confirms to the slot what is durable, a few times a second at most: a moved restart_lsn costs a write and an fsync.
void ConfirmDurable(Enqueuer *enqueuer);

} // namespace pgq_ext::process
