// The whole of our shared memory, for the files of process/ only: the entries and who supervises
// them.
//
// The lock is never held across anything that can wait or raise an error, so a backend may take it
// while it commits.
#pragma once

#include "process/shared.hpp"

namespace pgq_ext::process {

constexpr int kDatabases = 128;

struct Cluster {
	LWLock *lock;
	pg_atomic_uint32 generation; // rises when an entry is assigned or freed
	pg_atomic_uint32 look;       // pg_database may have changed; the launcher resets it and looks
	int launcher_procno;         // for its latch; -1: no launcher; read without the lock
	bool no_worker_slot;         // under the lock: the last start found max_worker_processes used up
	ConditionVariable changed;   // broadcast when any entry gets or loses its enqueuer
	Database databases[kDatabases];
};

// nullptr without shared_preload_libraries.
extern Cluster *cluster;

// These three with the lock held, the last two exclusively.
Database *FindEntry(Oid database);
Database *AssignEntry(Oid database); // the existing one, or a free one; nullptr when all are taken
void FreeEntry(Database *db);

void SetEnqueuerLatch(Database *db);
void SetLauncherLatch();

// False: no transaction needs to wake the enqueuer for this table.
bool MayBeCaptured(Database *db, Oid relid);

// Whether a command like DROP DATABASE has locked the database against new sessions.
bool DatabaseIsLocked(Oid database);

// Announces a database to the launcher now.
void Announce(Oid database);

// What is said about a database that could not get a worker.
extern const char *const kNoWorkerSlot;

} // namespace pgq_ext::process
