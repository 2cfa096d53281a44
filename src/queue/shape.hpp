// A table's row type as the catalog has it now, found without opening the table.
//
// Opening takes a lock, and who holds an ACCESS EXCLUSIVE lock on a source for an hour must not hold up the events of
// all the others.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

namespace pgq_ext::queue {

// The columns of the table, with the values that rows older than a column have for it, in the current memory context.
// A table that is altered meanwhile may be seen half before and half after it: the caller looks again when an invalidation
// has come. undefined_table (42P01) when there is no such table.
TupleDesc ShapeOf(Oid relid);

// The expression with each row of the table that is passed to to_jsonb, to_json or row_to_json given as an anonymous
// record with the same columns: the server opens the table of a named row type when it reads one, that of a record not.
Node *WithoutNamedRows(Node *expression, TupleDesc shape);

} // namespace pgq_ext::queue
