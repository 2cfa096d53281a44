// A handler's expressions as a view over its source: parsed, checked, bound, stored.
#pragma once

#include "queue/rule.hpp"

namespace pgq_ext::queue {

// The expressions of a handler as their author wrote them; nullptr: not given.
struct RuleText {
	const char *of[kRuleColumns];
};

// The query that gives text's expressions over source, bound with the current search path and role. With keep, the
// expressions for which text has nullptr are taken from there, as they were bound; else they get their defaults.
// Errors name the handler and the expression, and point into it: syntax_error (42601), undefined_column (42703), ...;
// feature_not_supported (0A000) for subqueries, aggregates, window and set-returning functions; datatype_mismatch
// (42804) for a filter that is not boolean; cannot_coerce (42846) where no cast leads to the expression's type.
// Holds AccessShareLock on the source until the transaction ends.
Query *BindRule(const char *handler, Oid source, const RuleText &text, Query *keep);

// rule with the expression of that column replaced by its default.
Query *WithDefault(const char *handler, Oid source, Query *rule, int column);

// Stores the query as view schema.name, owned by owner. The current role needs no rights in the schema.
// invalid_object_definition (42P17) when the query uses a temporary object.
// The view goes with the extension, as its members do, but pg_dump keeps it, as it does with other views.
Oid CreateRuleView(Oid schema, const char *name, const char *comment, Oid owner, Query *query);

// Lets a view that was restored from a dump go with the extension, too.
void GoWithExtension(Oid view);

// The query of a handler's view over source; owner gets the view's owner. nullptr when the view is gone, or isn't what we
// made it any more.
Query *RuleQuery(Oid rule, Oid source, Oid *owner);

// Drops the view, if it is there.
void DropRuleView(Oid view);

} // namespace pgq_ext::queue
