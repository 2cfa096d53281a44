// Shared memory: see shared.hpp.
#include "process/cluster.hpp"

#include "pg/compat.hpp"
#include "queue/ready_marks.hpp"

extern "C" {
#include "catalog/pg_database.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
}

namespace pgq_ext::process {

Cluster *cluster = nullptr;

const char *const kNoWorkerSlot = "no background worker slot was free for the enqueuer; raise max_worker_processes";

static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static void
Request()
{
	if (next_request_hook != nullptr)
		next_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Cluster)));
	RequestAddinShmemSpace(queue::ReadyMarksSize());
	RequestNamedLWLockTranche("pgq_ext", 1);
}

static void
ResetEntry(Database *db)
{
	db->database = InvalidOid;
	db->pid = 0;
	db->procno = -1;
	db->announced = false;
	db->terminated = false;
	db->state = State::Starting;
	db->last_error_at = 0;
	db->last_error[0] = '\0';
	db->recovered = true;
	db->slot_name[0] = '\0';
	pg_atomic_write_u64(&db->last_lsn, 0);
	pg_atomic_write_u64(&db->last_converted_at, 0);
	pg_atomic_write_u64(&db->events, 0);
	pg_atomic_write_u64(&db->jobs, 0);
	pg_atomic_write_u64(&db->errors, 0);
	for (pg_atomic_uint64 &count : db->latency)
		pg_atomic_write_u64(&count, 0);
	pg_atomic_write_u32(&db->sleeping, 0);
	pg_atomic_write_u64(&db->wake_lsn, 0);
	pg_atomic_write_u64(&db->next_due, DT_NOEND);
	for (pg_atomic_uint64 &word : db->captured)
		pg_atomic_write_u64(&word, 0);
}

static void
InitEntry(Database *db)
{
	pg_atomic_init_u64(&db->last_lsn, 0);
	pg_atomic_init_u64(&db->last_converted_at, 0);
	pg_atomic_init_u64(&db->events, 0);
	pg_atomic_init_u64(&db->jobs, 0);
	pg_atomic_init_u64(&db->errors, 0);
	pg_atomic_init_u64(&db->wake_lsn, 0);
	pg_atomic_init_u64(&db->next_due, 0);
	for (pg_atomic_uint64 &count : db->latency)
		pg_atomic_init_u64(&count, 0);
	for (pg_atomic_uint64 &word : db->captured)
		pg_atomic_init_u64(&word, 0);
	pg_atomic_init_u32(&db->sleeping, 0);
	ConditionVariableInit(&db->progressed);
	ResetEntry(db);
}

// Runs in the postmaster at start, and again after a crash, when the old contents are gone.
static void
Startup()
{
	bool found;

	if (next_startup_hook != nullptr)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	cluster = (Cluster *)ShmemInitStruct("pgq_ext", sizeof(Cluster), &found);
	if (!found) {
		cluster->lock = &GetNamedLWLockTranche("pgq_ext")->lock;
		pg_atomic_init_u32(&cluster->generation, 1);
		pg_atomic_init_u32(&cluster->look, 0);
		cluster->launcher_procno = -1;
		cluster->no_worker_slot = false;
		ConditionVariableInit(&cluster->changed);
		for (Database &db : cluster->databases)
			InitEntry(&db);
	}
	void *marks = ShmemInitStruct("pgq_ext ready marks", queue::ReadyMarksSize(), &found);
	queue::InitReadyMarks(marks, !found);
	LWLockRelease(AddinShmemInitLock);
}

void
RequestSharedMemory()
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = Request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = Startup;
}

bool
Preloaded()
{
	return cluster != nullptr;
}

Database *
FindEntry(Oid database)
{
	for (Database &db : cluster->databases)
		if (db.database == database)
			return &db;
	return nullptr;
}

Database *
AssignEntry(Oid database)
{
	Database *db = FindEntry(database);

	if (db == nullptr && (db = FindEntry(InvalidOid)) != nullptr) {
		db->database = database;
		pg_atomic_fetch_add_u32(&cluster->generation, 1);
	}
	return db;
}

void
FreeEntry(Database *db)
{
	ResetEntry(db);
	pg_atomic_fetch_add_u32(&cluster->generation, 1);
}

// Asked at every commit: remembers the answer, also "none", until an entry is assigned or freed.
Database *
ThisDatabase()
{
	static Database *mine;
	static uint32 known_generation = 0; // of a real one: from 1

	if (cluster == nullptr || !OidIsValid(MyDatabaseId))
		return nullptr;
	uint32 generation = pg_atomic_read_u32(&cluster->generation);
	if (generation != known_generation) {
		LWLockAcquire(cluster->lock, LW_SHARED);
		mine = FindEntry(MyDatabaseId);
		LWLockRelease(cluster->lock);
		known_generation = generation;
	}
	return mine;
}

bool
EnqueuerAlive()
{
	Database *db = ThisDatabase();

	return db != nullptr && db->pid != 0 && db->state == State::Streaming;
}

void
SetEnqueuerLatch(Database *db)
{
	int procno = db->procno;

	// A process that has taken the place of a dead enqueuer only wakes in vain.
	if (procno >= 0)
		SetLatch(&ProcGlobal->allProcs[procno].procLatch);
}

void
SetLauncherLatch()
{
	int procno = cluster->launcher_procno;

	if (procno >= 0)
		SetLatch(&ProcGlobal->allProcs[procno].procLatch);
}

void
Announce(Oid database)
{
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	Database *db = AssignEntry(database);
	if (db != nullptr)
		db->announced = true;
	LWLockRelease(cluster->lock);
	if (db == nullptr)
		pg_atomic_write_u32(&cluster->look, 1);
	SetLauncherLatch();
}

bool
DatabaseIsLocked(Oid database)
{
	LOCKTAG tag;

	// A session lock: there need not be a transaction.
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, true);
	return false;
}

} // namespace pgq_ext::process
