// Commands on databases that an enqueuer is in the way of: it leaves for as long as they take.
#pragma once

namespace pgq_ext::process {

// Called from _PG_init while shared_preload_libraries are loaded.
void RegisterDatabaseHooks();

} // namespace pgq_ext::process
