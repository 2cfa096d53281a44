// Who is first: the protocol by which the jobs of a serialization key run one at a time, in order, and are never stuck.
//
// A live job that is neither scheduled nor parked is the *head* of its key (ready, delayed, leased), or waits behind
// another. Only heads are in the index that dequeue reads. The rules, and why they suffice:
//
// 1. One writer. Only the enqueuer adds live jobs, at rising positions, one transaction after the other. So a snapshot
//    that shows a job shows every earlier job of its key that is still live, and "no earlier live job of this key" is
//    final: once true in any snapshot, it stays true.
// 2. Appending behind a live job L is safe when L cannot leave unnoticed before the appender's commit: L was added by
//    the same transaction, or L's newest version is locked FOR KEY SHARE. The lock is taken without waiting, and
//    afterwards the version must be found current, with nobody changing it: a lock on a replaced version protects
//    nothing. Then whoever deletes L waits for the appender, and sees the new job. If L is busy, the job becomes
//    *ready, unverified*: perhaps the head, perhaps not. So the appender never waits for anybody.
// 3. Leaving the live table is a DELETE, which conflicts with KEY SHARE. Every other change leaves job_id alone, is
//    thereby a NO KEY UPDATE, and doesn't. A lock once taken moves along to later versions.
// 4. Who deletes a head promotes the next job of its key, in a snapshot taken after the delete, whatever the isolation
//    level. A waiting next becomes ready. An unverified next becomes verified, which only spares dequeue a look. If the
//    next is being changed, the promoter waits and looks again: only a cancellation (or another promotion) can be
//    changing it. Who must not wait locks the head, then a waiting next, before he deletes; what is appended after that
//    is unverified, and if somebody has it, it stays so.
// 5. A cancelled head that was itself unverified may have had a predecessor: the job it promotes becomes ready,
//    unverified. The predecessor's leaving will verify it, or dequeue will.
// 6. Dequeue hands out an unverified job only if its snapshot shows no earlier live job of the key, and otherwise steps
//    over it. It never makes it wait: the predecessor may just be leaving, and would not see that.
// 7. Who deletes a job reads its state from the version it deletes, with the row locked: 'waiting' then means that a
//    predecessor is live, or that the transaction which deleted that is waiting for this row and will look again.
#pragma once

#include "queue/job.hpp"

namespace pgq_ext::queue {

// The hash of handler, a zero byte, and key.
int64 HashKey(Datum handler, Datum key);

// The key of a job of this handler with this serialization key (text, or NULL).
Key MakeKey(Datum handler, NullableDatum key);

// Both keys being present: whether they are equal.
bool SameKey(const Key &a, const Key &b);

// A copy of the key in the current memory context. A value in the job table's TOAST table stays
// there.
Key CopyKey(const Key &key);

// Whether the snapshot shows a live job of the key before position. Uses jobs.spare; key may borrow
// from jobs.row.
bool HasEarlier(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position);

// Finds the key's last live job, or its first one after position, into jobs.row; key must not
// borrow from there.
bool FindLast(const pg::Table &jobs, Snapshot snapshot, const Key &key);
bool FindNext(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position);

// Whether the departed head could be sure to be its key's first: see rule 5.
enum class Departed { Verified, Unverified };

// Whether the next job of a key has to be changed when its predecessor is gone.
bool NeedsPromotion(const Job &next, Departed departed);

// Lets the next live job of the key after position go (rules 4 and 5). To be called after the head
// at position has been deleted. Waits for a cancellation of the next job to be decided; with
// Wait::No only if that job waits, so the caller must have locked it. Nothing to do for a job
// without a key.
void PromoteNext(const pg::Table &jobs, const Key &key, int64 position, Departed departed, pg::Wait wait);

// The same for many heads deleted before snapshot was taken, which must be newer than all the
// deletes.
void PromoteNextIn(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position, Departed departed);

} // namespace pgq_ext::queue
