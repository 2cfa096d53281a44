// Granting and revoking by four words: see sql/api/grant.sql.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

// What of the extension goes with one word. Names end with a nullptr; a function's name stands for all that are called so.
struct Right {
	const char *word;
	const char *functions[16];
	const char *views[8];
};

// The right of that name; invalid_parameter_value (22023), naming the right ones, when there is none.
const Right *RightNamed(const char *word);

// Whether the right can be limited to one queue.
bool IsByQueue(const Right *right);

// insufficient_privilege (42501) unless the current role owns the extension.
void RequireExtensionOwner();

// Grants the right to role, or with queue (a text) the right to work that queue. undefined_object (42704) for an unknown
// queue. Runs GRANT by SPI, so search_path must be pinned.
void Grant(Oid schema, const Right *right, Oid role, NullableDatum queue);

// The reverse. object_not_in_prerequisite_state (55000) for one queue of a role that may work all.
void Revoke(Oid schema, const Right *right, Oid role, NullableDatum queue);

} // namespace pgq_ext::queue
