// What a transaction does for us when it ends: see wake.hpp.
#include "process/wake.hpp"

#include "pg/compat.hpp"
#include "process/cluster.hpp"
#include "queue/due.hpp"
#include "queue/ready_notes.hpp"

extern "C" {
#include "commands/extension.h"
#include "pgstat.h"
#include "utils/pgstat_internal.h"
}

namespace pgq_ext::process {

// Of the current transaction; reset when it ends.
static struct {
	bool wrote;      // inserted into a captured table, or may have
	bool announce;   // AnnounceAtCommit
	bool look_again; // WakeLauncherAtEnd
} pending;

void
AnnounceAtCommit()
{
	pending.announce = true;
}

void
WakeLauncherAtEnd()
{
	pending.look_again = true;
}

// The server's own statistics know which tables a transaction has inserted into, by any way (COPY,
// SPI, partitions), with its subtransactions' counts added in by now.
static bool
WroteCapturedTable(Database *db)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return false;
	if (!pgstat_track_counts)
		return true;
	for (PgStat_TableXactStatus *counts = pgstat_get_xact_stack_level(1)->first; counts != nullptr;
		 counts = counts->next)
		if ((counts->tuples_inserted > 0 || counts->truncdropped) && MayBeCaptured(db, pg::TableOf(counts)))
			return true;
	return false;
}

static void
BeforeCommit()
{
	Database *db = ThisDatabase();

	pending.wrote = db != nullptr && db->pid != 0 && db->pid != MyProcPid && WroteCapturedTable(db);
}

// The transaction is visible to all by now. Nothing here may raise an error.
static void
AfterCommit()
{
	TimestampTz due = queue::TakeEarliestDue();
	Database *db = ThisDatabase();

	queue::PublishReadyNotes(true);

	if (pending.announce)
		Announce(MyDatabaseId);
	if (db == nullptr)
		return;
	bool earlier = due != DT_NOEND && NoteDue(db, due);
	if (pending.wrote || earlier)
		Wake(db, pending.wrote ? XactLastCommitEnd : InvalidXLogRecPtr);
}

static void
AtEnd()
{
	if (pending.look_again && cluster != nullptr) {
		pg_atomic_write_u32(&cluster->look, 1);
		SetLauncherLatch();
	}
	pending = {};
}

static void
AtTransactionEvent(XactEvent event, void *)
{
	switch (event) {
	case XACT_EVENT_PRE_COMMIT:
		BeforeCommit();
		break;
	case XACT_EVENT_COMMIT:
		AfterCommit();
		AtEnd();
		break;
	case XACT_EVENT_ABORT:
		queue::PublishReadyNotes(false);
		queue::TakeEarliestDue();
		AtEnd();
		break;
	case XACT_EVENT_PREPARE:
		queue::ForgetReadyNotes();
		queue::TakeEarliestDue();
		AtEnd();
		break;
	default: // parallel workers write nothing
		break;
	}
}

static void
AtSubtransactionEvent(SubXactEvent event, SubTransactionId, SubTransactionId, void *)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		queue::PublishReadyNotesOfSubtransaction();
}

void
RegisterWakeCallback()
{
	RegisterXactCallback(AtTransactionEvent, nullptr);
	RegisterSubXactCallback(AtSubtransactionEvent, nullptr);
}

void
WakeAfterCommitPrepared()
{
	Database *db = ThisDatabase();

	if (db != nullptr) {
		NoteDue(db, GetCurrentTimestamp());
		// The end of the last record this process wrote, which is the commit or comes after it.
		Wake(db, XactLastRecEnd);
	} else if (OidIsValid(get_extension_oid("pgq_ext", true)))
		AnnounceAtCommit();
}

} // namespace pgq_ext::process
