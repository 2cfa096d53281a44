// Named points at which a test can make a process fail, wait or crash. They are compiled in by `make FAULTS=1` only.
//
// A point acts when the data directory has a file pgq_ext_faults/<name>. The file says what happens, and is removed
// first, so that it happens once:
//
//     error   an ERROR is raised
//     crash   the process kills itself with SIGKILL, and with it the server goes through crash recovery
//     wait    the process waits until the file pgq_ext_faults/<name>.go appears, and goes on
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::pg {

#ifdef PGQ_EXT_FAULTS
void FaultPoint(const char *name);
#else
inline void
FaultPoint(const char *)
{
}
#endif

} // namespace pgq_ext::pg
