// Running what a handler's owner wrote: see restricted.hpp.
#include "queue/restricted.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "utils/guc.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

Oid
RowOwner(Oid source, Oid handler_owner)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(source));
	Oid owner = handler_owner;

	if (HeapTupleIsValid(tuple)) {
		owner = ((Form_pg_class)GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return superuser_arg(handler_owner) && !superuser_arg(owner) ? owner : handler_owner;
}

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
