// Which databases there are for the launcher: those that can have an enqueuer, and those it hasn't
// looked into yet.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::process {

// Looks at pg_database: what can't have an enqueuer (any more) is told to leave or forgotten, what
// is new waits for its probe.
void LookAtDatabases();

// The next database to probe; InvalidOid when none waits.
Oid NextUnprobed();
bool AnyUnprobed();

} // namespace pgq_ext::process
