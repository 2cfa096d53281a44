// The earliest time at which something that this transaction wrote becomes due: the enqueuer has to wake up for it.
//
// Kept for the transaction in progress, and published by process/ when it commits. A rolled-back subtransaction may
// leave a time that is too early, which costs the enqueuer one look.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

void NoteDue(TimestampTz when);

// The earliest time noted since the last call; DT_NOEND when there is none. To be called at the end of every
// transaction, also of one that aborts.
TimestampTz TakeEarliestDue();

} // namespace pgq_ext::queue
