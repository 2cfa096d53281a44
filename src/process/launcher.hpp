// The launcher: one background worker per server that keeps an enqueuer in every database that has
// the extension.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::process {

// Called from _PG_init while shared_preload_libraries are loaded.
void RegisterLauncher();

} // namespace pgq_ext::process

extern "C" {
PGDLLEXPORT void pgq_ext_launcher_main(Datum arg);
}
