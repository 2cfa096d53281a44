// What a transaction does for us when it ends: it wakes the enqueuer when it has written a captured
// table, and tells the launcher of a database that may have got the extension. No trigger, no lock,
// no WAL.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::process {

void RegisterWakeCallback();

// Makes the launcher look at pg_database again when this transaction has ended, in whatever way.
void WakeLauncherAtEnd();

// After COMMIT PREPARED, whose transaction's tables nobody knows: the enqueuer looks at everything.
void WakeAfterCommitPrepared();

} // namespace pgq_ext::process
