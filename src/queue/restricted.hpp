// Running what a handler's owner wrote: with his rights, as a security-restricted operation, read-only, and without a
// trace in the settings.
//
// An error leaves everything to the abort of its transaction or subtransaction.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

struct Restricted {
	Oid user;
	int context;
	int guc_level;
	bool read_only;
};

// As whom that runs which comes with a row's types and not with the handler: constraints of domains, casts to json. Who
// owns the table chooses its types, and may do so behind the back of the handler's owner; so a superuser's handler runs
// it as the owner of the table, unless that is a superuser too.
Oid RowOwner(Oid source, Oid handler_owner);

Restricted EnterRestricted(Oid owner);
void LeaveRestricted(const Restricted &saved);

} // namespace pgq_ext::queue
