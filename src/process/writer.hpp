// The enqueuer's transactions: a batch with the progress that says so, due jobs, and what it keeps in memory for them.
#pragma once

#include "decode/decoder.hpp"
#include "pg/extension.hpp"
#include "pg/try.hpp"
#include "process/durable.hpp"
#include "process/gather.hpp"
#include "process/pieces.hpp"
#include "process/shared.hpp"
#include "queue/converter.hpp"
#include "queue/evaluate.hpp"
#include "queue/progress.hpp"

namespace pgq_ext::process {

struct Enqueuer {
	MemoryContext context; // lives as long as the process; everything below is in it
	ResourceOwner owner;
	Database *db;
	const char *database_name; // the catalog can't be asked outside a transaction
	pg::Extension extension;
	queue::Progress progress; // as last committed; what it refers to is in context, too
	decode::Batch *batch;
	decode::Collector *collector;
	decode::Decoder *decoder; // nullptr while starting
	DurableQueue durable;
	PiecesState pieces;
	Crowd crowd;
	bool postponed; // there may be requests in the table that the stream has passed
};

// In the current memory context and resource owner, for the extension as it is found now.
Enqueuer *NewEnqueuer(Database *db);

// Everything committed before it has become jobs that have their place, once the batch is written.
XLogRecPtr Position(const Enqueuer *enqueuer);

// The same by what has been committed: where a process that starts now would begin to decode.
XLogRecPtr RecordedPosition(const Enqueuer *enqueuer);

// Whether there is something in the batch, or the position has moved so far that it should be recorded all the same.
bool ShouldWrite(const Enqueuer *enqueuer);

// The terms for the events at the stream's present position.
queue::Terms TermsNow(const Enqueuer *enqueuer, queue::Care care);

// Within a transaction: turns the batch into jobs, once its transactions count as ended.
queue::Tally ConvertBatch(Enqueuer *enqueuer, decode::Batch *batch, const queue::Terms &terms, int64 *next_position);

// Takes note that the batch has been committed with this progress, and empties it.
void Committed(Enqueuer *enqueuer, const queue::Progress &progress, decode::Batch *batch, const queue::Tally &tally);

// Tells the slot's side how far things are since the last commit.
void NoteProgress(Enqueuer *enqueuer);

// Writes the batch's jobs and the progress in one transaction, and empties the batch. False: the extension is gone.
bool WriteBatch(Enqueuer *enqueuer);

// Moves jobs whose time has come, when there may be some. False: the extension is gone.
bool MoveDueJobs(Enqueuer *enqueuer);

// Runs body in a transaction of the enqueuer: marked so that nothing it writes is an event, with the extension locked
// against DROP. False, and body not run, when the extension is gone. Errors leave the transaction to the caller.
template <typename Body> bool InTransaction(Enqueuer *enqueuer, const Body &body);

// The parts of InTransaction.
bool BeginTransaction(Enqueuer *enqueuer);
void CommitTransaction(Enqueuer *enqueuer);
void AbortTransaction(Enqueuer *enqueuer);

template <typename Body>
bool
InTransaction(Enqueuer *enqueuer, const Body &body)
{
	if (!BeginTransaction(enqueuer))
		return false;
	body();
	CommitTransaction(enqueuer);
	return true;
}

// Runs body(care) in such a transaction: the fast way first, unless told otherwise; when anything fails, whatever it
// was, again with each evaluation on its own. What fails then is not an expression's fault.
template <typename Body>
bool
WithCare(Enqueuer *enqueuer, queue::Care first, const Body &body)
{
	bool installed = true;

	if (first == queue::Care::Full)
		return InTransaction(enqueuer, [&]() { body(queue::Care::Full); });
	ErrorData *error = pg::Try([&]() { installed = InTransaction(enqueuer, [&]() { body(queue::Care::None); }); });

	if (error == nullptr)
		return installed;
	queue::StopClock();
	AbortTransaction(enqueuer);
	FreeErrorData(error);
	return InTransaction(enqueuer, [&]() { body(queue::Care::Full); });
}

} // namespace pgq_ext::process
