// The enqueuer's hold of its entry in shared memory: taking it, giving it back, and what it says
// there about itself.
#include "process/cluster.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "tcop/tcopprot.h"
}

namespace pgq_ext::process {

static volatile sig_atomic_t terminated;

void
Terminate(int signal)
{
	terminated = true;
	die(signal);
}

// Gives the entry back. Exit 0 says that the extension is gone, unless it has been created again
// meanwhile.
static void
Detach(int code, Datum arg)
{
	Database *db = (Database *)DatumGetPointer(arg);

	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	db->pid = 0;
	db->procno = -1;
	db->terminated = terminated;
	if (code == 0 && !db->announced && db->state != State::Held)
		FreeEntry(db);
	else if (db->state != State::Held)
		db->state = code == 0 ? State::Starting : State::Failed;
	LWLockRelease(cluster->lock);
	ConditionVariableBroadcast(&db->progressed);
	ConditionVariableBroadcast(&cluster->changed);
	SetLauncherLatch();
}

Database *
Attach()
{
	if (cluster == nullptr)
		return nullptr;

	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	Database *db = AssignEntry(MyDatabaseId);
	bool taken = db == nullptr || db->pid != 0;
	if (!taken) {
		db->pid = MyProcPid;
		db->procno = pg::ProcNumber();
		db->state = State::Starting;
		pg_atomic_write_u32(&db->sleeping, 0);
	}
	LWLockRelease(cluster->lock);
	if (taken)
		return nullptr;

	on_shmem_exit(Detach, PointerGetDatum(db));
	ConditionVariableBroadcast(&cluster->changed);
	// The order matters: we publish our pid and then ask; the command locks and then looks for a
	// pid. So at least one of the two sees the other.
	if (!DatabaseIsLocked(MyDatabaseId))
		return db;
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	db->state = State::Held;
	LWLockRelease(cluster->lock);
	return nullptr;
}

void
SetState(Database *db, State state)
{
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	// Who holds the database has sent SIGTERM: that we go on a little must not hide it.
	if (db->state != State::Held)
		db->state = state;
	db->recovered |= state == State::Streaming;
	LWLockRelease(cluster->lock);
	SetLauncherLatch();
}

void
SetSlotName(Database *db, const char *slot_name)
{
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	strlcpy(db->slot_name, slot_name, sizeof db->slot_name);
	LWLockRelease(cluster->lock);
}

bool
RecordError(Database *db, const char *message)
{
	size_t length = pg_mbcliplen(message, strlen(message), sizeof db->last_error - 1);

	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	bool again = !db->recovered && strlen(db->last_error) == length && memcmp(db->last_error, message, length) == 0;
	memcpy(db->last_error, message, length);
	db->last_error[length] = '\0';
	db->last_error_at = GetCurrentTimestamp();
	db->recovered = false;
	LWLockRelease(cluster->lock);
	return again;
}

void
CountLatency(Database *db, uint64 microseconds)
{
	pg_atomic_fetch_add_u64(&db->latency[LatencyBucket(microseconds)], 1);
}

} // namespace pgq_ext::process
