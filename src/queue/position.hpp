// Positions of jobs, across a dump.
//
// The position for the next job is part of the progress, which belongs to one database's WAL and is in no dump. A sequence that
// is kept somewhat ahead of it is. So when somebody has set the sequence, as a restore does, positions go on behind it: jobs
// of after the restore come after those that were restored.
#pragma once

#include "queue/progress.hpp"

namespace pgq_ext::queue {

// Before positions are given, in a transaction: raises progress.next_position where the sequence is not as we left it.
void TakePositions(Oid schema, Progress *progress);

// After they were given: keeps the sequence ahead.
void KeepPositions(Oid schema, Progress *progress);

} // namespace pgq_ext::queue
