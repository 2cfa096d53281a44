// The library's entry point: settings, shared memory, hooks, launcher.
#include "pg/postgres.hpp"

#include "process/database_hooks.hpp"
#include "process/launcher.hpp"
#include "process/shared.hpp"
#include "process/wake.hpp"
#include "settings.hpp"

extern "C" {
PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);
}

// Loaded later than shared_preload_libraries, only the functions work that need no enqueuer. While
// pg_upgrade runs, nothing may read or write the queue.
void
_PG_init(void)
{
	using namespace pgq_ext;

	if (IsBinaryUpgrade)
		return;
	settings::Define();
	if (!process_shared_preload_libraries_in_progress)
		return;
	process::RequestSharedMemory();
	process::RegisterWakeCallback();
	process::RegisterDatabaseHooks();
	process::RegisterLauncher();
}
