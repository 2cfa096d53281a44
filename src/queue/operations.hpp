// What operators want done to single jobs: cancelling them, and putting dead letters back.
//
// A live job is cancelled at once. What only the enqueuer may do, because it adds live jobs or must
// come after an enqueue request that isn't a job yet, is written down as a request; the enqueuer
// calls the functions below, in stream order.
#pragma once

#include "queue/append.hpp"

namespace pgq_ext::queue {

// True: the job is cancelled, or will be as soon as it is live. False: it is finished or unknown.
// Waits for whoever is changing the job.
bool Cancel(Oid schema, int64 job_id);

// True: the dead letter will go back to its queue. False: there is no dead letter of that id.
// undefined_object (42704) when its queue was dropped.
bool Retry(Oid schema, int64 job_id);

// Makes requests.changed a new row of pgq_request; the caller fills in the rest and inserts it.
void StartRequest(const pg::Table &requests, RequestKind kind, int64 job_id);

// Asks the enqueuer, by a row of pgq_request, to do something to the job (or event error) of that id.
void Ask(Oid schema, RequestKind kind, int64 id);

// --- the enqueuer's side -------------------------------------------------------------------------------------------

// Takes the dead letter from the archive and appends it at position as a live job, its failures
// forgotten. False: it is not there (any more).
bool AppendRetried(Appender *appender, Oid schema, int64 job_id, int64 position);

enum class Cancelled {
	Done,
	Gone, // finished by now, or cancelled
	Busy, // somebody holds the job: the request must be kept, and tried again later
};

// Cancels the live job, without waiting.
Cancelled CancelNow(Appender *appender, Oid schema, int64 job_id);

// Holds all live jobs of a database that is a copy, as pgq_hold_jobs() does; returns how many.
int64 HoldJobs(Oid schema);

} // namespace pgq_ext::queue
