// Shared memory: what the processes of one cluster tell each other about each database's enqueuer.
//
// One entry per database that has the extension (or had, until its enqueuer found out otherwise). Positions, due times
// and counters are atomics and may be read at any time; pid, state and error texts are under one LWLock.
// Without shared_preload_libraries there is no shared memory: every function here then answers "no enqueuer".
#pragma once

#include "pg/postgres.hpp"
#include "process/latency.hpp"

extern "C" {
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
}

namespace pgq_ext::process {

enum class State {
	Starting,     // process is being started, or initialises
	CreatingSlot, // waits for the transactions that were running when it began
	Streaming,    // converts
	Failed,       // ended with an error; the launcher starts it again after a pause
	Held,         // asked to leave: a command like DROP DATABASE has locked the database
};

constexpr int kFilterBits = 8192;

struct Database {
	// Under the lock. database and pid may be read without it, by those who can stand a stale answer.
	Oid database;    // InvalidOid: free
	pid_t pid;       // 0: no enqueuer is running
	int procno;      // of the enqueuer, for its latch; -1: none
	bool announced;  // CREATE EXTENSION committed since the last start: exit 0 doesn't free the entry
	bool terminated; // the last enqueuer was told to go: that is no failure of its own
	State state;
	TimestampTz last_error_at;
	char last_error[512];
	bool recovered; // an enqueuer has converted since
	char slot_name[NAMEDATALEN];

	// Written by the enqueuer, read by anyone.
	pg_atomic_uint64 last_lsn;          // everything committed before it has become jobs, visibly
	pg_atomic_uint64 last_converted_at; // TimestampTz of the last commit that added jobs; 0: none yet
	pg_atomic_uint64 events, jobs, errors;
	pg_atomic_uint64 latency[kLatencyBuckets]; // see latency.hpp
	ConditionVariable progressed;              // broadcast when last_lsn or pid moves

	// Written by committing backends and the enqueuer.
	pg_atomic_uint32 sleeping; // the enqueuer is about to wait for its latch, or does
	pg_atomic_uint64 wake_lsn; // a commit that touched a captured table ended here; only rises
	pg_atomic_uint64 next_due; // TimestampTz: a job becomes due then; DT_NOEND: none known

	// Which tables are captured, as a set of hash bits: a false positive only wakes the enqueuer in vain.
	pg_atomic_uint64 captured[kFilterBits / 64];
};

// Called from _PG_init while shared_preload_libraries are loaded: reserves memory, registers the hooks.
void RequestSharedMemory();

bool Preloaded();

// The entry of the current database; nullptr when there is none.
Database *ThisDatabase();

// Whether an enqueuer runs in the current database and converts (then it, not dequeue, moves due jobs). One that still
// waits for its slot, which may take as long as the longest transaction, does nothing else.
bool EnqueuerAlive();

// --- the enqueuer's side -------------------------------------------------------------------------------------------

// Takes the entry of the current database for this process, and gives it back at exit.
// nullptr: another process has it, or the database is held; the caller exits quietly.
Database *Attach();

// The handler of SIGTERM: remembers, for the entry, that the process was told to go.
void Terminate(int signal);

void SetState(Database *db, State state);
void SetSlotName(Database *db, const char *slot_name);
// Keeps the error for pgq_enqueuer. True: it is the one that the enqueuer before ended with, too.
bool RecordError(Database *db, const char *message);

// Counts a job that became visible so many microseconds after its event's commit.
void CountLatency(Database *db, uint64 microseconds);

// The timer's protocol: ForgetDue, then look in the job table with a newer snapshot, then NoteDue what is left there.
// A backend notes its due time when its commit is visible, so one that the snapshot missed is noted after ForgetDue.
void ForgetDue(Database *db);
bool NoteDue(Database *db, TimestampTz due); // true: it is earlier than what was known

// Replaces the set of captured tables.
void SetCaptured(Database *db, const Oid *relids, int n);

// Publishes that everything before lsn is visible as jobs, and wakes those who wait for it.
void PublishProgress(Database *db, XLogRecPtr lsn);

// Waits for the latch until something happens or the timeout (milliseconds) is over; wakes no later than next_due.
// Returns at once when a commit was announced beyond position, the end of the last record that was read.
void Sleep(Database *db, XLogRecPtr position, long timeout);

// --- the backends' side --------------------------------------------------------------------------------------------

// Asks the launcher to look whether this database has the extension, once this transaction has committed.
void AnnounceAtCommit();

// Wakes the enqueuer: a commit that may concern it ended at lsn.
void Wake(Database *db, XLogRecPtr lsn);

// Waits until everything before lsn has become jobs. query_canceled (57014) when it takes longer than timeout ms;
// object_not_in_prerequisite_state (55000) when no enqueuer can run, with the setting to change as HINT.
void WaitForProgress(XLogRecPtr lsn, long timeout);

// What keeps an enqueuer from running here, as a HINT naming the setting; nullptr when nothing does.
const char *MissingPrecondition();

} // namespace pgq_ext::process
