// Which tables to be woken for and which to skip, kept up to date.
#pragma once

#include "process/writer.hpp"

namespace pgq_ext::process {

// Whether handlers or tables may have changed since WatchTables.
bool TablesMayHaveChanged(Enqueuer *enqueuer);

// Tells committing backends which tables are captured, and the decoder which records to skip.
// False: the extension is gone.
bool WatchTables(Enqueuer *enqueuer);

} // namespace pgq_ext::process
