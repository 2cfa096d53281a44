// The enqueuer's transactions: a batch with the progress that says so, due jobs, and what it keeps in memory for them.
#pragma once

#include "decode/decoder.hpp"
#include "pg/extension.hpp"
#include "process/durable.hpp"
#include "process/shared.hpp"
#include "queue/progress.hpp"

namespace pgq_ext::process {

struct Enqueuer {
	MemoryContext context; // lives as long as the process; everything below is in it
	ResourceOwner owner;
	Database *db;
	const char *database_name; // the catalog can't be asked outside a transaction
	pg::Extension extension;
	queue::Progress progress; // as last committed
	char *converted;          // what the progress has, or is about to have; nullptr: unknown
	decode::Batch *batch;
	decode::Collector *collector;
	decode::Decoder *decoder; // nullptr while starting
	DurableQueue durable;
	bool postponed; // there may be requests in the table that the stream has passed
};

// In the current memory context and resource owner, for the extension as it is found now.
Enqueuer *NewEnqueuer(Database *db);

// Everything committed before it has become jobs, once the batch is written.
XLogRecPtr Position(const Enqueuer *enqueuer);

// Whether there is something in the batch, or the position has moved so far that it should be recorded all the same.
bool ShouldWrite(const Enqueuer *enqueuer);

// Writes the batch's jobs and the progress in one transaction, and empties the batch. False: the extension is gone.
bool WriteBatch(Enqueuer *enqueuer);

// Moves jobs whose time has come, when there may be some. False: the extension is gone.
bool MoveDueJobs(Enqueuer *enqueuer);

// Runs body in a transaction of the enqueuer: marked so that nothing it writes is an event, with the extension locked
// against DROP. False, and body not run, when the extension is gone. Errors leave the transaction to the caller.
template <typename Body> bool
InTransaction(Enqueuer *enqueuer, const Body &body);

// The parts of InTransaction.
bool BeginTransaction(Enqueuer *enqueuer);
void CommitTransaction(Enqueuer *enqueuer);
void AbortTransaction(Enqueuer *enqueuer);

template <typename Body> bool
InTransaction(Enqueuer *enqueuer, const Body &body)
{
	if (!BeginTransaction(enqueuer))
		return false;
	body();
	CommitTransaction(enqueuer);
	return true;
}

} // namespace pgq_ext::process
