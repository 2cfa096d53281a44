// Running what a handler's owner wrote: see restricted.hpp.
#include "queue/restricted.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace pgq_ext::queue {

Restricted
EnterRestricted(Oid owner)
{
	Restricted saved;

	GetUserIdAndSecContext(&saved.user, &saved.context);
	saved.guc_level = NewGUCNestLevel();
	saved.read_only = XactReadOnly;
	SetUserIdAndSecContext(owner, saved.context | SECURITY_RESTRICTED_OPERATION);
	XactReadOnly = true;
	return saved;
}

void
LeaveRestricted(const Restricted &saved)
{
	XactReadOnly = saved.read_only;
	AtEOXact_GUC(false, saved.guc_level);
	SetUserIdAndSecContext(saved.user, saved.context);
}

} // namespace pgq_ext::queue
