// Whether and where the extension is installed in the current database.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::pg {

struct Extension {
	Oid oid; // InvalidOid: not installed
	Oid schema;
};

// Looks the extension up. Needs a transaction.
Extension FindExtension();

// The same, and keeps it from being dropped until the transaction ends. DROP EXTENSION takes the same lock first, so
// that two of us never wait for each other's tables.
Extension LockExtension();

} // namespace pgq_ext::pg
