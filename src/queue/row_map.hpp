// Rows as the WAL has them, in the shape their source's row type has now.
//
// Between a row's insertion and its conversion the table may have changed: columns added (the row then has their
// default, as a reader of the table sees it), dropped, or retyped (the value goes through its text form); and rows of a
// partition have the partition's column order.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

struct RowMap;

// Maps rows of shape from, inserted into from_relid, to shape to, the row type of to_relid: the same table, or one whose
// partition from_relid is or was. Lives in the current memory context.
RowMap *MapRows(TupleDesc from, Oid from_relid, TupleDesc to, Oid to_relid);

// The row in the mapped shape, valid until the next one. Raises what a conversion of a retyped column raises; allocates
// in the current memory context.
TupleTableSlot *MapRow(RowMap *map, TupleTableSlot *row);

} // namespace pgq_ext::queue
