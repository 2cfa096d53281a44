// The enqueuer's main loop. Step() is the architecture: read WAL, write jobs, publish, confirm, sleep.
#include "process/enqueuer.hpp"

#include "decode/decoder.hpp"
#include "decode/slot.hpp"
#include "pg/try.hpp"
#include "process/durable.hpp"
#include "process/resume.hpp"
#include "process/shared.hpp"
#include "process/start.hpp"
#include "process/watch.hpp"
#include "process/writer.hpp"
#include "queue/pinned_settings.hpp"
#include "queue/rule.hpp"
#include "settings.hpp"

extern "C" {
#include "commands/dbcommands.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/lwlock.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/resowner.h"
}

namespace pgq_ext::process {

// Idle, it looks around once a second: for DROP EXTENSION, and for commits that had no way to wake it.
constexpr long kIdleSleepMs = 1000;

// While much is written that nobody has woken it for: what is read of a large transaction now need not be at its commit.
constexpr long kBusySleepMs = 20;
constexpr uint64 kBusyBytes = 256 * 1024;

static void
ApplySettings()
{
	char kilobytes[32];

	snprintf(kilobytes, sizeof(kilobytes), "%dkB", settings::decoding_work_mem);
	SetConfigOption("logical_decoding_work_mem", kilobytes, PGC_USERSET, PGC_S_OVERRIDE);
}

static void
HandleInterrupts()
{
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending) {
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
		ApplySettings();
	}
}

// A commit with synchronous_commit = off wakes us before its record is flushed; only flushed WAL can be read.
static void
FlushAnnounced(const Database *db)
{
	XLogRecPtr announced = pg_atomic_read_u64(const_cast<pg_atomic_uint64 *>(&db->wake_lsn));

	if (announced > GetFlushRecPtr(nullptr))
		XLogFlush(announced);
}

// One round: WAL becomes events, events become jobs and progress in one transaction, a piece of a large transaction in
// another, and what is durable is confirmed.
// False: the extension is gone.
static bool
Step(Enqueuer *enqueuer)
{
	HandleInterrupts();
	FlushAnnounced(enqueuer->db);
	XLogRecPtr from = decode::Position(enqueuer->decoder);
	bool drained = decode::ReadWal(enqueuer->decoder, enqueuer->batch);
	if (TablesMayHaveChanged(enqueuer) && !WatchTables(enqueuer))
		return false;
	TakeResumed(enqueuer);
	if (ShouldWrite(enqueuer) && !WriteBatch(enqueuer))
		return false;
	if (!WorkOnPieces(enqueuer))
		return false;
	PublishProgress(enqueuer->db, Position(enqueuer));
	if (!MoveDueJobs(enqueuer))
		return false;
	ConfirmDurable(enqueuer);
	if (drained && !HasPieces(enqueuer->pieces) && !Gather(enqueuer->crowd)) {
		pgstat_report_stat(false);
		pgstat_report_activity(STATE_IDLE, nullptr);
		XLogRecPtr to = decode::Position(enqueuer->decoder);
		Sleep(enqueuer->db, to, to - from >= kBusyBytes ? kBusySleepMs : kIdleSleepMs);
		pgstat_report_activity(STATE_RUNNING, "converting events into jobs");
	}
	return true;
}

static void
Run(Enqueuer *enqueuer)
{
	pgstat_report_activity(STATE_RUNNING, "starting");
	if (Start(enqueuer)) {
		SetState(enqueuer->db, State::Streaming);
		while (Step(enqueuer))
			;
	}
	// Only DROP EXTENSION ends the loop, after it has committed: the slot is nobody's any more.
	decode::DropSlot();
	ereport(LOG,
			(errmsg("enqueuer ends: database \"%s\" does not have extension \"pgq_ext\"", enqueuer->database_name)));
}

static const char *
DatabaseName()
{
	StartTransactionCommand();
	const char *name = MemoryContextStrdup(TopMemoryContext, get_database_name(MyDatabaseId));
	CommitTransactionCommand();
	return name;
}

static bool
HasExtension()
{
	StartTransactionCommand();
	bool has = OidIsValid(pg::FindExtension().oid);
	CommitTransactionCommand();
	return has;
}

static void
Connect(Oid database)
{
	pqsignal(SIGTERM, Terminate);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	queue::PinSettings();
	queue::WatchRules();
	SetConfigOption("synchronous_commit", "off", PGC_USERSET, PGC_S_OVERRIDE);
	decode::AllowOutputPlugin();
	ApplySettings();
}

} // namespace pgq_ext::process

void
pgq_ext_enqueuer_main(Datum arg)
{
	using namespace pgq_ext;

	process::Connect(DatumGetObjectId(arg));
	// In this order: exit 0 frees the entry only once it is ours, and an extension created after we look is announced.
	process::Database *db = process::Attach();
	if (db == nullptr || !process::HasExtension())
		proc_exit(0);

	const char *name = process::DatabaseName();
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "pgq_ext enqueuer", ALLOCSET_DEFAULT_SIZES));
	CurrentResourceOwner = ResourceOwnerCreate(nullptr, "pgq_ext enqueuer");
	process::Enqueuer *enqueuer = process::NewEnqueuer(db);
	enqueuer->database_name = name;
	ErrorData *error = pg::Try([&]() { process::Run(enqueuer); });
	if (error == nullptr)
		proc_exit(0);
	// The error may have been raised with locks held; the text is kept for pgq_enqueuer, and the process goes. What
	// fails again and again is said once.
	LWLockReleaseAll();
	if (process::RecordError(db, error->message != nullptr ? error->message : "unknown error"))
		proc_exit(1);
	ReThrowError(error);
}
