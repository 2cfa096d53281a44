// The launcher: see launcher.hpp.
//
// It sees shared catalogs only, so it can't know which databases have the extension: it starts an
// enqueuer in each it hasn't seen before (a probe, one at a time: worker slots are few), and that
// one exits 0 when it is not needed there. From then on it sleeps until it is woken: by a commit of
// CREATE EXTENSION (Announce), by commands on databases (Cluster::look), by an enqueuer's end or
// change of state. Between rounds it holds no snapshot and no lock.
#include "process/launcher.hpp"

#include "pg/compat.hpp"
#include "process/cluster.hpp"
#include "process/databases.hpp"

extern "C" {
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/wait_event.h"
}

namespace pgq_ext::process {

// Milliseconds. A failing enqueuer is started again after a pause that doubles from the shortest to the longest; a run
// as long as a good one begins with the shortest again.
constexpr int kShortestPause = 1000;
constexpr int kLongestPause = 60000;
constexpr int kGoodRun = 10000;

// A probe that takes longer doesn't keep the next one waiting.
constexpr int kProbePatience = 1000;

// A held database is looked at again after this, should its holder not wake us.
constexpr int kHeldPause = 1000;

// Between scans of pg_database for changes that no hook of ours saw.
constexpr int kSafetyScan = 60000;

// What the launcher knows about an entry; a new launcher learns it anew.
struct Watch {
	Oid database;
	BackgroundWorkerHandle *handle; // of the last enqueuer started, until it has ended
	TimestampTz started_at;
	TimestampTz retry_at; // 0: not decided yet
	int pause;            // the last one
};

static Watch watches[kDatabases];
static int probing = -1; // entry whose probe the next one waits for
static bool starved;     // the last start found no worker slot; said once
static TimestampTz next_scan;

static TimestampTz
After(TimestampTz time, int milliseconds)
{
	return TimestampTzPlusMilliseconds(time, milliseconds);
}

// Forgets the handle of a worker that has ended; true when it did.
static bool
Reap(Watch *watch)
{
	pid_t pid;

	if (watch->handle == nullptr || GetBackgroundWorkerPid(watch->handle, &pid) != BGWH_STOPPED)
		return false;
	pfree(watch->handle);
	watch->handle = nullptr;
	return true;
}

static void
DecidePause(Watch *watch, TimestampTz now, bool terminated)
{
	if (watch->retry_at != 0)
		return;
	bool good = terminated || TimestampDifferenceExceeds(watch->started_at, now, kGoodRun);
	watch->pause = good ? kShortestPause : Min(Max(watch->pause * 2, kShortestPause), kLongestPause);
	watch->retry_at = After(now, watch->pause);
}

// When the entry's enqueuer has to be started; DT_NOEND when it hasn't.
static TimestampTz
StartTime(Database *db, Watch *watch, TimestampTz now)
{
	TimestampTz time = DT_NOEND;
	bool ended = Reap(watch); // before we read what it left in the entry

	if (watch->handle != nullptr)
		return DT_NOEND; // its end wakes us
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	if (watch->database != db->database) {
		*watch = {};
		watch->database = db->database;
		ended = false;
	}
	// Neither attached nor refused: it never got as far as to say what is wrong.
	if (ended && db->pid == 0 && db->state == State::Starting && !db->announced)
		db->state = State::Failed;
	if (OidIsValid(db->database) && db->pid == 0) {
		if (db->state == State::Failed && !db->announced) {
			DecidePause(watch, now, db->terminated);
			time = watch->retry_at;
		} else
			time = now;
	}
	bool unexplained = ended && db->state == State::Failed && db->last_error_at < watch->started_at;
	LWLockRelease(cluster->lock);
	if (unexplained)
		(void)RecordError(db, "the enqueuer ended early; the server log says why");
	return time;
}

static bool
StartWorker(Oid database, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker = {};

	snprintf(worker.bgw_name, BGW_MAXLEN, "pgq_ext enqueuer of database %u", database);
	strlcpy(worker.bgw_type, "pgq_ext enqueuer", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "pgq_ext", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pgq_ext_enqueuer_main", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

static void
SetStarved(Database *db, bool now_starved)
{
	if (now_starved && !starved)
		ereport(LOG,
				(errmsg("pgq_ext could not start an enqueuer for database %u", db->database),
				 errdetail("No background worker slot is free."),
				 errhint("Raise max_worker_processes, which is %d, and restart the server.", max_worker_processes)));
	starved = now_starved;
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	cluster->no_worker_slot = now_starved;
	if (now_starved)
		db->state = State::Failed;
	LWLockRelease(cluster->lock);
	if (now_starved)
		(void)RecordError(db, kNoWorkerSlot);
}

static void
Start(Database *db, Watch *watch, TimestampTz now)
{
	bool held = DatabaseIsLocked(watch->database);

	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	db->state = held ? State::Held : State::Starting;
	if (!held)
		db->announced = false; // the worker looks later than this
	LWLockRelease(cluster->lock);
	if (held)
		return;
	watch->started_at = now;
	watch->retry_at = 0;
	SetStarved(db, !StartWorker(watch->database, &watch->handle));
}

// Whether the next probe has to wait for this one. A worker slot that couldn't be had keeps all of
// them waiting.
static bool
Probing(TimestampTz now)
{
	if (probing < 0)
		return false;
	Database *db = &cluster->databases[probing];
	Watch *watch = &watches[probing];
	if (starved && db->database == watch->database && OidIsValid(db->database))
		return true;
	return watch->handle != nullptr && db->state == State::Starting &&
		   !TimestampDifferenceExceeds(watch->started_at, now, kProbePatience);
}

// Makes an entry for the next database to probe; false when none waits or there is no entry left.
static bool
NextProbe()
{
	bool assigned = false;

	while (!assigned && AnyUnprobed()) {
		Oid database = NextUnprobed();
		LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
		if (FindEntry(database) == nullptr) {
			Database *db = AssignEntry(database);
			assigned = db != nullptr;
			probing = assigned ? (int)(db - cluster->databases) : -1;
		}
		bool full = !assigned && FindEntry(database) == nullptr;
		LWLockRelease(cluster->lock);
		if (full)
			ereport(LOG,
					(errmsg("pgq_ext has no room for database %u: it supports %d databases", database, kDatabases)));
	}
	return assigned;
}

// Starts what is due. Returns when to look again, should nothing wake us before.
static TimestampTz
Round()
{
	TimestampTz now = GetCurrentTimestamp();
	bool looked = pg_atomic_exchange_u32(&cluster->look, 0) != 0 || now >= next_scan;

	if (looked) {
		LookAtDatabases();
		next_scan = After(now, kSafetyScan);
	}
	TimestampTz wake = next_scan;
	for (int i = 0; i < kDatabases; i++) {
		Database *db = &cluster->databases[i];
		TimestampTz time = StartTime(db, &watches[i], now);
		if (time <= now && !looked) {
			LookAtDatabases(); // it may be gone, or a template now
			looked = true;
			time = StartTime(db, &watches[i], now);
		}
		if (time <= now)
			Start(db, &watches[i], now);
		if (db->state == State::Held && OidIsValid(db->database))
			time = After(now, kHeldPause);
		if (time > now)
			wake = Min(wake, time);
	}
	if (!Probing(now))
		return NextProbe() ? now : wake;
	return AnyUnprobed() ? Min(wake, After(now, kProbePatience)) : wake;
}

static void
Gone(int, Datum)
{
	cluster->launcher_procno = -1;
}

// Makes this process the launcher; doesn't return without logical decoding.
static void
Begin()
{
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	if (wal_level < WAL_LEVEL_LOGICAL) {
		ereport(LOG, (errmsg("pgq_ext starts no enqueuer because wal_level is lower than logical"),
					  errhint("Set wal_level to logical and restart the server.")));
		proc_exit(0);
	}
	BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
	on_shmem_exit(Gone, 0);
	cluster->launcher_procno = pg::ProcNumber();
	pgstat_report_activity(STATE_IDLE, nullptr);
}

void
RegisterLauncher()
{
	BackgroundWorker worker = {};

	strlcpy(worker.bgw_name, "pgq_ext launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pgq_ext launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "pgq_ext", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pgq_ext_launcher_main", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 1;
	RegisterBackgroundWorker(&worker);
}

} // namespace pgq_ext::process

void
pgq_ext_launcher_main(Datum)
{
	using namespace pgq_ext::process;

	for (Begin();;) {
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending) {
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		TimestampTz wake = Round();
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
				  TimestampDifferenceMilliseconds(GetCurrentTimestamp(), wake), PG_WAIT_EXTENSION);
	}
}
