// The enqueuer's transactions: see writer.hpp.
#include "process/writer.hpp"

#include "decode/open_xids.hpp"
#include "decode/slot.hpp"
#include "pg/fault.hpp"
#include "queue/position.hpp"
#include "queue/request.hpp"
#include "queue/timer.hpp"
#include "settings.hpp"

extern "C" {
#include "catalog/pg_extension.h"
#include "pgstat.h"
#include "replication/origin.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/resowner.h"
}

namespace pgq_ext::process {

// When nothing concerns us the position is still recorded after this much WAL, so that the slot can move. Recording it
// costs some 300 bytes of WAL itself, so an idle server stays idle.
constexpr uint64 kRecordProgressBytes = 256 * 1024;

// Due jobs moved per transaction: few enough not to hold up the stream.
constexpr int kDueJobs = 1000;

// A cancellation that found its job in somebody's hands is tried again after this time.
constexpr int kPostponedMs = 500;

Enqueuer *
NewEnqueuer(Database *db)
{
	Enqueuer *enqueuer = (Enqueuer *)palloc0(sizeof(Enqueuer));

	enqueuer->context = CurrentMemoryContext;
	enqueuer->owner = CurrentResourceOwner;
	enqueuer->db = db;
	enqueuer->batch = decode::NewBatch(enqueuer->context);
	enqueuer->pieces.piece = decode::NewBatch(enqueuer->context);
	return enqueuer;
}

// What is before lsn, but for a large transaction that has not been converted completely.
static XLogRecPtr
UpToUnfinished(const Enqueuer *enqueuer, XLogRecPtr lsn)
{
	XLogRecPtr unfinished = FirstUnfinished(enqueuer->pieces);

	return XLogRecPtrIsInvalid(unfinished) ? lsn : Min(lsn, unfinished);
}

XLogRecPtr
RecordedPosition(const Enqueuer *enqueuer)
{
	return UpToUnfinished(enqueuer, enqueuer->progress.last_lsn);
}

XLogRecPtr
Position(const Enqueuer *enqueuer)
{
	XLogRecPtr position = UpToUnfinished(enqueuer, Max(enqueuer->progress.last_lsn, enqueuer->batch->end));
	XLogRecPtr parked_from = enqueuer->pieces.parked_from;

	return XLogRecPtrIsInvalid(parked_from) ? position : Min(position, parked_from);
}

bool
ShouldWrite(const Enqueuer *enqueuer)
{
	XLogRecPtr recorded = enqueuer->progress.last_lsn;
	XLogRecPtr end = enqueuer->batch->end;

	// The last is for an idle server, which would otherwise keep what a load has left behind.
	return !decode::IsEmpty(*enqueuer->batch) || end > recorded + kRecordProgressBytes ||
		   (end > recorded && (decode::SlotCouldMove(end) || enqueuer->progress.converted == nullptr));
}

bool
BeginTransaction(Enqueuer *enqueuer)
{
	StartTransactionCommand();
	pg::Extension found = pg::LockExtension();
	// Dropped and created again is another extension: its enqueuer is another process.
	bool same = !OidIsValid(enqueuer->extension.oid) || found.oid == enqueuer->extension.oid;
	if (!OidIsValid(found.oid) || !same) {
		AbortTransaction(enqueuer);
		return false;
	}
	enqueuer->extension = found;
	PushActiveSnapshot(GetTransactionSnapshot());
	// Nothing of ours is an event, and nobody replicates it by accident; the plugin filters this origin out.
	replorigin_session_origin = DoNotReplicateId;
	return true;
}

static void
Leave(Enqueuer *enqueuer)
{
	replorigin_session_origin = InvalidRepOriginId;
	// What an expression has locked for the session is held against everybody until the session ends, which is never.
	LockReleaseSession(USER_LOCKMETHOD);
	MemoryContextSwitchTo(enqueuer->context);
	CurrentResourceOwner = enqueuer->owner;
}

void
CommitTransaction(Enqueuer *enqueuer)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	Leave(enqueuer);
	pgstat_report_stat(false);
}

void
AbortTransaction(Enqueuer *enqueuer)
{
	AbortCurrentTransaction();
	Leave(enqueuer);
}

// A commit can be read from the WAL before its transaction counts as ended. Jobs must not be seen before their events,
// and expressions must see the rows they are about: wait, and look at the database anew.
static void
WaitUntilVisible(const decode::Batch *batch)
{
	for (int i = 0; i < batch->nxids; i++)
		if (TransactionIdIsInProgress(batch->xids[i]))
			XactLockTableWait(batch->xids[i], nullptr, nullptr, XLTW_None);
	PopActiveSnapshot();
	PushActiveSnapshot(GetTransactionSnapshot());
}

queue::Terms
TermsNow(const Enqueuer *enqueuer, queue::Care care)
{
	queue::Terms terms = {};

	terms.handlers = decode::ActiveHandlers(enqueuer->collector);
	terms.parking = &enqueuer->pieces.parking;
	terms.care = care;
	terms.timeout_ms = settings::expression_timeout;
	return terms;
}

queue::Tally
ConvertBatch(Enqueuer *enqueuer, decode::Batch *batch, const queue::Terms &terms, int64 *next_position)
{
	pg::FaultPoint("before_convert");
	WaitUntilVisible(batch);
	queue::Tally tally = queue::Convert(enqueuer->extension.schema, batch, terms, next_position);
	pg::FaultPoint("after_insert");
	return tally;
}

static void
CountLatencies(Enqueuer *enqueuer, const decode::Batch *batch, TimestampTz now)
{
	ListCell *lc;

	foreach (lc, batch->runs) {
		decode::Run *run = (decode::Run *)lfirst(lc);
		if (!run->source->requests)
			CountLatency(enqueuer->db, (uint64)Max(0, now - run->committed_at));
	}
}

static void
Count(Enqueuer *enqueuer, const decode::Batch *batch, const queue::Tally &tally)
{
	Database *db = enqueuer->db;
	TimestampTz now = GetCurrentTimestamp();

	CountLatencies(enqueuer, batch, now);
	CountCrowd(&enqueuer->crowd, tally.events, now);
	pg_atomic_fetch_add_u64(&db->events, tally.events);
	pg_atomic_fetch_add_u64(&db->jobs, tally.jobs);
	pg_atomic_fetch_add_u64(&db->errors, tally.errors);
	if (tally.jobs > 0)
		pg_atomic_write_u64(&db->last_converted_at, (uint64)now);
}

void
Committed(Enqueuer *enqueuer, const queue::Progress &progress, decode::Batch *batch, const queue::Tally &tally)
{
	char *before = enqueuer->progress.converted;

	enqueuer->progress = progress;
	if (before != nullptr && before != progress.converted)
		pfree(before);
	if (tally.postponed) {
		enqueuer->postponed = true;
		NoteDue(enqueuer->db, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kPostponedMs));
	}
	Count(enqueuer, batch, tally);
	decode::ResetBatch(batch);
	decode::ForgetSources(enqueuer->collector);
}

void
NoteProgress(Enqueuer *enqueuer)
{
	NoteWritten(&enqueuer->durable, RecordedPosition(enqueuer), XactLastCommitEnd);
}

bool
WriteBatch(Enqueuer *enqueuer)
{
	queue::Progress progress;
	queue::Tally tally;
	Pieces *pieces;

	if (enqueuer->batch->handler_changes != NIL && !FinishPieces(enqueuer))
		return false;
	char *converted = enqueuer->decoder != nullptr ? decode::Converted(enqueuer->decoder) : nullptr;
	bool installed = WithCare(enqueuer, queue::Care::None, [&](queue::Care care) {
		progress = enqueuer->progress;
		queue::TakePositions(enqueuer->extension.schema, &progress);
		tally = ConvertBatch(enqueuer, enqueuer->batch, TermsNow(enqueuer, care), &progress.next_position);
		pieces = ReservePieces(enqueuer, &progress.next_position);
		queue::KeepPositions(enqueuer->extension.schema, &progress);
		progress.last_lsn = Max(progress.last_lsn, enqueuer->batch->end);
		progress.converted = converted;
		queue::WriteProgress(enqueuer->extension.schema, &progress);
		pg::FaultPoint("before_commit");
	});
	if (!installed)
		return false;
	pg::FaultPoint("after_commit");
	AddPieces(enqueuer, pieces);
	Committed(enqueuer, progress, enqueuer->batch, tally);
	NoteProgress(enqueuer);
	return true;
}

// One transaction of due jobs. What the timers leave for later is returned as the time to come again.
static TimestampTz
MoveJobs(Enqueuer *enqueuer, queue::Progress *progress)
{
	Oid schema = enqueuer->extension.schema;
	TimestampTz now = GetCurrentTimestamp();
	queue::Appender *appender = queue::OpenAppender(schema, &enqueuer->pieces.parking);
	queue::TakePositions(schema, progress);
	pg::FaultPoint("before_timers");
	queue::TimerRun run = queue::RunTimers(schema, now, kDueJobs, appender, &progress->next_position);

	if (enqueuer->postponed) {
		enqueuer->postponed = queue::DoPostponed(appender, schema) > 0;
		if (enqueuer->postponed)
			run.next_due = Min(run.next_due, TimestampTzPlusMilliseconds(now, kPostponedMs));
	}
	queue::CloseAppender(appender);
	pg::FaultPoint("after_timers");
	queue::KeepPositions(schema, progress);
	if (progress->next_position != enqueuer->progress.next_position)
		queue::WriteProgress(schema, progress);
	return run.limited ? now : run.next_due;
}

bool
MoveDueJobs(Enqueuer *enqueuer)
{
	if ((TimestampTz)pg_atomic_read_u64(&enqueuer->db->next_due) > GetCurrentTimestamp())
		return true;
	ForgetDue(enqueuer->db);
	queue::Progress progress = enqueuer->progress;
	TimestampTz next_due = DT_NOEND;
	if (!InTransaction(enqueuer, [&]() { next_due = MoveJobs(enqueuer, &progress); }))
		return false;
	enqueuer->progress = progress;
	NoteDue(enqueuer->db, next_due);
	return true;
}

} // namespace pgq_ext::process
