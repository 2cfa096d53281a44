// One expression of a handler: from text to SELECT expression FROM source, parsed, checked and bound.
#pragma once

#include "queue/rule.hpp"

namespace pgq_ext::queue {

// Binds the text of that column of a rule over source, with the current search path and role; nullptr stands for the
// column's default. Errors as for BindRule.
Query *BindExpression(const char *handler, Oid source, int column, const char *text);

} // namespace pgq_ext::queue
