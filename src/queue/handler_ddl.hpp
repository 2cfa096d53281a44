// Defining handlers: what pgq_create_handler, pgq_alter_handler and pgq_drop_handler do in the caller's transaction.
//
// Every definition is a new row of pgq_handler; the enqueuer meets it in the WAL and lets it apply from the commit on.
#pragma once

#include "queue/rule_view.hpp"

namespace pgq_ext::queue {

// A definition as the caller gave it. nullptr and InvalidOid: not given.
struct Definition {
	const char *handler;
	Oid source;
	RuleText rule;
	const char *queue;
};

// invalid_parameter_value (22023) for a name that is empty or longer than 255 bytes; duplicate_object (42710);
// undefined_object (42704) for an unknown queue; wrong_object_type (42809) for a source that is no permanent table;
// insufficient_privilege (42501) without SELECT on it; and what BindRule raises.
// Locks the name against other definitions of it, the queue against being dropped, the source in AccessShareLock.
void CreateHandler(Oid schema, const Definition &definition);

// Replaces the definition; what is not given stays as it is, bound as it was. An empty expression text removes the
// expression. undefined_object (42704) for an unknown handler; insufficient_privilege (42501) for who does not own it.
void AlterHandler(Oid schema, const Definition &change);

void DropHandler(Oid schema, const char *handler);

} // namespace pgq_ext::queue
