// Fault points: see fault.hpp.
#include "pg/fault.hpp"

#ifdef PGQ_EXT_FAULTS

extern "C" {
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/wait_event.h"
#include <signal.h>
#include <unistd.h>
}

namespace pgq_ext::pg {

// How often a waiting process looks for the file that lets it go on.
constexpr long kLookMs = 20;

// Reads what is to happen at the point into action and removes the file; false when there is none.
static bool
TakeAction(const char *path, char *action, size_t size)
{
	FILE *file = fopen(path, "r");

	if (file == nullptr)
		return false;
	bool read = fgets(action, size, file) != nullptr;
	fclose(file);
	// Who removes it acts: two processes may have come to the point at once.
	return unlink(path) == 0 && read;
}

static void
WaitForGo(const char *path)
{
	char go[MAXPGPATH];

	snprintf(go, sizeof go, "%s.go", path);
	while (unlink(go) != 0) {
		CHECK_FOR_INTERRUPTS();
		(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kLookMs, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

void
FaultPoint(const char *name)
{
	char path[MAXPGPATH];
	char action[16];

	snprintf(path, sizeof path, "pgq_ext_faults/%s", name);
	if (!TakeAction(path, action, sizeof action))
		return;
	ereport(LOG, (errmsg("pgq_ext fault point \"%s\": %s", name, action)));
	if (strncmp(action, "crash", 5) == 0)
		(void)kill(MyProcPid, SIGKILL);
	else if (strncmp(action, "wait", 4) == 0)
		WaitForGo(path);
	else
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("fault point \"%s\"", name)));
}

} // namespace pgq_ext::pg

#endif
