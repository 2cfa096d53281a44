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

Restricted EnterRestricted(Oid owner);
void LeaveRestricted(const Restricted &saved);

} // namespace pgq_ext::queue
