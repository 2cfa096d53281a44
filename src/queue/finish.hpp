// The ends of a job's run, as its worker reports them: completed, or failed.
#pragma once

#include "queue/archive.hpp"
#include "queue/handout.hpp"

namespace pgq_ext::queue {

// An error text is kept up to this many bytes, cut at a character boundary.
constexpr int kErrorBytes = 8192;

// Archives the job as completed. False: this same hand-out has completed it before. PQ001 when it
// isn't current. Waits for whoever is changing the job, and for the enqueuer while it is adding a
// job behind it.
bool Complete(Oid schema, const HandOut &hand_out, NullableDatum result);

// Completes those of the hand-outs that are current, each once, in the order of their ids; puts the
// ids of the completed ones into ids (room for n) and returns their number. Reorders hand_outs.
int CompleteAll(const JobTables &open, HandOut *hand_outs, int n, int64 *ids);

// Counts a failure. True: the job will run again, after retry_in or, where that is nullptr, the
// queue's backoff. False: it was the last attempt, the job is a dead letter now. PQ001 when the
// hand-out isn't current.
bool Fail(Oid schema, const HandOut &hand_out, Datum error, const Interval *retry_in);

} // namespace pgq_ext::queue
