// Reading the WAL: see decoder.hpp.
#include "decode/decoder.hpp"

#include "decode/open_xids.hpp"
#include "decode/skip.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/xlogutils.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "storage/sinval.h"
#include "storage/standby.h"
#include "utils/inval.h"
#include "utils/resowner.h"
}

namespace pgq_ext::decode {

// A batch is full at this many rows: enough to make the cost of a commit small, few enough to be seen soon.
constexpr int64 kMaxBatchRows = 10000;

// restart_lsn, and with it the WAL kept for us, moves only when a running-xacts record is decoded. Write one of our own
// after this much WAL; the server's comes every 15 seconds at most.
constexpr uint64 kStandbySnapshotBytes = 16 * 1024 * 1024;

struct Decoder {
	MemoryContext context;
	ResourceOwner owner;
	Collector *collector;
	OpenXids *open;
	LogicalDecodingContext *ctx;
	ReadLocalXLogPageNoWaitPrivate end_of_wal;
	XLogRecPtr snapshot_logged_at;
	uint64 invalidations;      // SharedInvalidMessageCounter when last looked at
	XLogRecPtr invalidated_at; // WAL position when it last moved
};

static LogicalDecodingContext *
CreateContext(MemoryContext context, XLogRecPtr start)
{
	XLogReaderRoutine routine = {};
	MemoryContext old = MemoryContextSwitchTo(context);

	routine.page_read = read_local_xlog_page_no_wait;
	routine.segment_open = wal_segment_open;
	routine.segment_close = wal_segment_close;
	LogicalDecodingContext *ctx = CreateDecodingContext(start, NIL, false, &routine, nullptr, nullptr, nullptr);
	MemoryContextSwitchTo(old);
	return ctx;
}

Decoder *
StartDecoding(Collector *collector, XLogRecPtr start, XLogRecPtr known_at, const char *converted)
{
	Decoder *decoder = (Decoder *)palloc0(sizeof(Decoder));

	decoder->context = CurrentMemoryContext;
	decoder->owner = CurrentResourceOwner;
	decoder->collector = collector;
	decoder->open = NewOpenXids(known_at, converted);

	// Inside a transaction: outside one the server would mark this process as one that only decodes, and VACUUM would
	// no longer respect the snapshots that it writes jobs with.
	StartTransactionCommand();
	decoder->ctx = CreateContext(decoder->context, start);
	CommitTransactionCommand();
	MemoryContextSwitchTo(decoder->context);
	CurrentResourceOwner = decoder->owner;

	decoder->ctx->reader->private_data = &decoder->end_of_wal;
	XLogBeginRead(decoder->ctx->reader, MyReplicationSlot->data.restart_lsn);
	// A process that lives no longer than it takes to get here must leave its successor less to read again.
	decoder->snapshot_logged_at = MyReplicationSlot->data.restart_lsn;
	decoder->invalidated_at = GetXLogInsertRecPtr();
	return decoder;
}

XLogRecPtr
Position(const Decoder *decoder)
{
	return decoder->ctx->reader->EndRecPtr;
}

char *
Converted(const Decoder *decoder)
{
	return SnapshotOf(decoder->open);
}

// Cache entries built while decoding show the catalog as of the position in the WAL, those built in our own
// transactions show it as of now. Where the two may differ, neither must be used for the other: a stale entry would
// write jobs into a file that VACUUM FULL has replaced. They differ until decoding has passed the last invalidation.
static void
SeparateCaches(Decoder *decoder)
{
	AcceptInvalidationMessages();
	if (decoder->invalidations != SharedInvalidMessageCounter) {
		decoder->invalidations = SharedInvalidMessageCounter;
		decoder->invalidated_at = GetXLogInsertRecPtr();
	}
	if (Position(decoder) <= decoder->invalidated_at)
		InvalidateSystemCaches();
}

static void
LogStandbySnapshotNowAndThen(Decoder *decoder)
{
	if (Position(decoder) < decoder->snapshot_logged_at + kStandbySnapshotBytes)
		return;
	LogStandbySnapshot();
	decoder->snapshot_logged_at = GetXLogInsertRecPtr();
	ForgetMovesBefore(Moves(decoder->collector), MyReplicationSlot->data.restart_lsn);
}

static bool
ReadUntilFull(Decoder *decoder, Batch *batch)
{
	LogicalDecodingContext *ctx = decoder->ctx;
	char *error = nullptr;

	for (;;) {
		CHECK_FOR_INTERRUPTS();
		XLogRecord *record = XLogReadRecord(ctx->reader, &error);
		if (error != nullptr)
			elog(ERROR, "could not read WAL at %X/%X: %s", LSN_FORMAT_ARGS(Position(decoder)), error);
		if (record == nullptr) {
			decoder->end_of_wal.end_of_wal = false;
			return true;
		}
		NoteRecord(decoder->open, ctx->reader);
		if (!SkipRecord(ctx, decoder->collector))
			LogicalDecodingProcessRecord(ctx, ctx->reader);
		// Replaying a transaction leaves another context and resource owner behind.
		MemoryContextSwitchTo(decoder->context);
		CurrentResourceOwner = decoder->owner;
		batch->end = Position(decoder);
		LogStandbySnapshotNowAndThen(decoder);
		if (batch->nrows >= kMaxBatchRows || batch->large != nullptr)
			return false;
	}
}

bool
ReadWal(Decoder *decoder, Batch *batch)
{
	SeparateCaches(decoder);
	bool drained = ReadUntilFull(decoder, batch);
	SeparateCaches(decoder);
	return drained;
}

} // namespace pgq_ext::decode
