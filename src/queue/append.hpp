// The enqueuer's side of the key protocol: adding live jobs. See keys.hpp for the rules.
#pragma once

#include "pg/rows.hpp"
#include "queue/known_keys.hpp"

namespace pgq_ext::queue {

struct NewJob {
	int64 job_id;           // of pgq_job_id_seq
	int64 position;         // above all given before; not for AppendScheduled
	TimestampTz visible_at; // only for AppendScheduled: when it becomes due
	TimestampTz created_at;
	int32 priority;
	int32 attempt;            // hand-outs so far: 0, but for a retried dead letter
	int32 failures;           // counted so far: 0
	Datum queue;              // text
	Datum handler;            // text
	NullableDatum key;        // text
	NullableDatum last_error; // text
	NullableDatum args;       // jsonb
};

struct Parking;

// Adds jobs, within one transaction of the enqueuer and one level of it: opened, used and closed in
// the same (sub)transaction, which must be READ COMMITTED in spirit (it takes snapshots of its
// own). Only one process of a database may have one at a time.
struct Appender {
	pg::Table jobs;
	pg::Rows *rows;         // new jobs that are not in the table yet
	const Parking *parking; // whose jobs are parked; nullptr: nobody's
	Snapshot snapshot;      // shows what the key index is asked about; renewed as rules demand
	bool stale;             // snapshot must be renewed before it is asked again
	KnownKeys known;
	MemoryContext context;     // parent of all below, holds the Appender itself
	MemoryContext row_context; // reset with each job
};

// Lives in a child of the current memory context.
Appender *OpenAppender(Oid schema, const Parking *parking);
void CloseAppender(Appender *appender);

// Adds a live job at the end of its key.
void Append(Appender *appender, const NewJob &job);

// Adds a job that takes its place in its key when it becomes due: see RunTimers.
void AppendScheduled(Appender *appender, const NewJob &job);

// Gives the scheduled or parked job in jobs.row its place, at the end of its key. False: somebody holds the
// row, try again later.
bool PlaceJob(Appender *appender, const pg::Table &jobs, int64 position);

// Puts all jobs into the table that have been added: to be called before anybody looks for them there.
void InsertAppended(Appender *appender);

// To be called when a job that this transaction may have appended was deleted by this transaction.
void ForgetAppended(Appender *appender);

} // namespace pgq_ext::queue
