// The lease of a job in a worker's hands: prolonging it, and giving the job back.
#pragma once

#include "queue/handout.hpp"

namespace pgq_ext::queue {

// Makes the lease end no earlier than lease (nullptr: the queue's) from now, and returns its end.
// Never shortens it. A lease that had run out is one again. PQ001 when the hand-out isn't current.
TimestampTz Extend(Oid schema, const HandOut &hand_out, const Interval *lease);

// Gives the job back, to be handed out again now or after run_in; that isn't a failure. It stays
// the head of its key. PQ001 when the hand-out isn't current.
void Release(Oid schema, const HandOut &hand_out, const Interval *run_in);

} // namespace pgq_ext::queue
