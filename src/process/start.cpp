// How an enqueuer begins: see start.hpp.
#include "process/start.hpp"

#include "decode/plugin.hpp"
#include "decode/slot.hpp"
#include "pg/fault.hpp"
#include "pg/table.hpp"
#include "process/resume.hpp"
#include "process/watch.hpp"
#include "queue/gap_handlers.hpp"
#include "queue/operations.hpp"

extern "C" {
#include "commands/dbcommands.h"
}

namespace pgq_ext::process {

static decode::Collector *
CollectorFor(Enqueuer *enqueuer)
{
	decode::OwnTables own;

	own.handler = pg::RelationNamed(enqueuer->extension.schema, "pgq_handler");
	own.request = pg::RelationNamed(enqueuer->extension.schema, "pgq_request");
	MemoryContext old = MemoryContextSwitchTo(enqueuer->context);
	decode::Collector *collector = decode::NewCollector(own, enqueuer->batch);
	decode::SetPluginCollector(collector);
	MemoryContextSwitchTo(old);
	return collector;
}

// Makes a slot, which takes until the transactions that are running now have ended. In a transaction, but without an
// xid or a snapshot: nothing may wait for us that we wait for.
static XLogRecPtr
MakeSlot(Enqueuer *enqueuer)
{
	SetState(enqueuer->db, State::CreatingSlot);
	decode::DropSlot();
	StartTransactionCommand();
	XLogRecPtr start = decode::CreateSlot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(enqueuer->context);
	CurrentResourceOwner = enqueuer->owner;
	return start;
}

static void
WarnOfGap(const queue::Gap &gap, queue::CaughtUp result)
{
	const char *lost = "The replication slot was lost, and the WAL since the last position is no longer there.";

	if (result == queue::CaughtUp::ByXids)
		ereport(WARNING, (errmsg("events committed between %X/%X and %X/%X were recovered from the tables alone",
								 LSN_FORMAT_ARGS(gap.from), LSN_FORMAT_ARGS(gap.to)),
						  errdetail("%s", lost),
						  errhint("They are in the order in which their transactions began to write. Rows "
								  "updated or deleted since have no jobs.")));
	else if (result == queue::CaughtUp::Not)
		ereport(WARNING, (errmsg("events committed between %X/%X and %X/%X could not be recovered",
								 LSN_FORMAT_ARGS(gap.from), LSN_FORMAT_ARGS(gap.to)),
						  errdetail("%s", lost),
						  errhint("Rows inserted in that time have no jobs; see "
								  "max_slot_wal_keep_size.")));
}

// Starts with a new slot. What committed since from, and before the slot, becomes jobs in one transaction with the new
// position; the slot is made permanent just before. After a crash between the two, slot and position don't fit, and all
// of this is done again.
static bool
StartAnew(Enqueuer *enqueuer, XLogRecPtr from)
{
	queue::Gap gap = {};
	MemoryContext old = CurrentMemoryContext;

	gap.from = from;
	gap.converted_to = enqueuer->progress.last_lsn;
	gap.large = GapPieces(enqueuer);
	gap.converted = ConvertedBut(enqueuer);
	if (!InTransaction(enqueuer, [&]() {
			MemoryContextSwitchTo(enqueuer->context);
			gap.handlers_before = queue::ReadHandlerIds(enqueuer->extension.schema);
			MemoryContextSwitchTo(old);
		}))
		return false;
	pg::FaultPoint("before_slot");
	gap.to = MakeSlot(enqueuer);
	queue::CaughtUp result = queue::CaughtUp::Not;
	if (!InTransaction(enqueuer, [&]() {
			result = queue::CatchUp(enqueuer->extension.schema, enqueuer->collector, enqueuer->batch, gap);
			TakeCaughtUp(enqueuer);
		}))
		return false;
	WarnOfGap(gap, result);
	pg::FaultPoint("before_slot_persists");
	decode::PersistSlot();
	pg::FaultPoint("after_slot_persists");
	if (!WriteBatch(enqueuer))
		return false;
	pg::FaultPoint("after_catch_up");
	XLogFlush(XactLastCommitEnd);
	return true;
}

// Where the recorded position and the slot do not fit, the slot can't give what was committed in between.
static bool
SlotFits(const Enqueuer *enqueuer)
{
	const queue::Progress &progress = enqueuer->progress;
	XLogRecPtr confirmed;

	switch (decode::AcquireSlot(&confirmed)) {
	case decode::SlotStatus::Usable:
		return progress.same_cluster && !XLogRecPtrIsInvalid(progress.last_lsn) &&
			   confirmed <= RecordedPosition(enqueuer);
	case decode::SlotStatus::Missing:
	case decode::SlotStatus::Lost:
		break;
	}
	return false;
}

// Keeps what is known of the transactions that have ended.
static void
Keep(Enqueuer *enqueuer, const char *converted)
{
	enqueuer->progress.converted = converted != nullptr ? MemoryContextStrdup(enqueuer->context, converted) : nullptr;
}

// The jobs that were live when the database was copied are the original's: see sql/admin/copies.sql.
static void
HoldJobs(Enqueuer *enqueuer)
{
	int64 held = queue::HoldJobs(enqueuer->extension.schema);

	if (held > 0)
		ereport(WARNING, (errmsg("database \"%s\" was copied: " INT64_FORMAT " live jobs of it are held",
								 enqueuer->database_name, held),
						  errhint("pgq_adopt_jobs() lets them go, once the original does not work them "
								  "any more.")));
}

// Makes the positions those of this database, now: what was committed before makes no jobs, what comes does, also if we
// end before there is a slot.
static bool
Adopt(Enqueuer *enqueuer)
{
	return InTransaction(enqueuer, [&]() {
		HoldJobs(enqueuer);
		ForgetPieces(enqueuer);
		enqueuer->progress.last_lsn = GetXLogInsertRecPtr();
		Keep(enqueuer, queue::PresentSnapshot());
		queue::WriteProgress(enqueuer->extension.schema, &enqueuer->progress);
	});
}

static bool
StartWithNewSlot(Enqueuer *enqueuer)
{
	const queue::Progress &progress = enqueuer->progress;

	if (!progress.same_cluster) {
		ereport(LOG, (errmsg("database \"%s\" was restored or copied: rows that are there make no jobs",
							 enqueuer->database_name)));
		if (!Adopt(enqueuer))
			return false;
		return StartAnew(enqueuer, progress.last_lsn);
	}
	if (XLogRecPtrIsInvalid(progress.last_lsn))
		return StartAnew(enqueuer, progress.installed_lsn);
	ereport(WARNING, (errmsg("the replication slot of the enqueuer was lost; making a new one")));
	return StartAnew(enqueuer, RecordedPosition(enqueuer));
}

bool
Start(Enqueuer *enqueuer)
{
	char slot_name[NAMEDATALEN];

	if (!InTransaction(enqueuer, [&]() {
			enqueuer->progress = queue::ReadProgress(enqueuer->extension.schema);
			Keep(enqueuer, enqueuer->progress.converted);
			enqueuer->collector = CollectorFor(enqueuer);
			LoadPieces(enqueuer);
		}))
		return false;
	decode::SlotName(slot_name);
	SetSlotName(enqueuer->db, slot_name);
	if (SlotFits(enqueuer)) {
		if (!InTransaction(enqueuer, [&]() { queue::ResumeHandlers(enqueuer->extension.schema, enqueuer->collector); }))
			return false;
	} else if (!StartWithNewSlot(enqueuer)) {
		return false;
	}
	if (!WatchTables(enqueuer) || !PlaceLeftOver(enqueuer))
		return false;
	// Whatever became due, or was postponed, while nobody watched.
	enqueuer->postponed = true;
	NoteDue(enqueuer->db, GetCurrentTimestamp());
	ResumePieces(enqueuer);
	enqueuer->decoder = decode::StartDecoding(enqueuer->collector, RecordedPosition(enqueuer),
											  enqueuer->progress.last_lsn, enqueuer->progress.converted);
	return true;
}

} // namespace pgq_ext::process
