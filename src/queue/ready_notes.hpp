// What a transaction does to the marks of ready_marks.hpp, kept until it has ended.
//
// Jobs that it makes claimable are noted when it has committed, and jobs that it takes when it has rolled back: before, nobody
// else could see or change them.
#pragma once

#include "queue/job.hpp"
#include "queue/ready_marks.hpp"

namespace pgq_ext::queue {

// The job can be claimed once this transaction has committed. marks may be nullptr: nothing to do.
void NoteReady(ReadyMarks *marks, ReadyOrder order);

// The job is not claimable any more, unless this transaction rolls back.
void NoteTaken(ReadyMarks *marks, ReadyOrder order);

// The same for a job of this pgq_job, as it is before it is changed: one that could not be claimed is not taken.
inline void
NoteReady(Oid jobs, const Job &job)
{
	NoteReady(FindReadyMarks(jobs, job.queue), ReadyOrder{job.priority, job.position});
}

inline void
NoteTaken(Oid jobs, const Job &job)
{
	if (job.state == State::Ready && !job.leased)
		NoteTaken(FindReadyMarks(jobs, job.queue), ReadyOrder{job.priority, job.position});
}

// Adds what this very transaction has made claimable.
void AddReadyNotes(ClaimPlan *plan);

// To be called when the transaction has ended, visibly; raises nothing. A rolled back subtransaction tells, too: more than is
// necessary does no harm.
void PublishReadyNotes(bool committed);
void PublishReadyNotesOfSubtransaction();

// The transaction goes on without us, being prepared: nobody will know what it has noted.
void ForgetReadyNotes();

} // namespace pgq_ext::queue
