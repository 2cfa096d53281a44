// Rows as the WAL has them, in the shape their source's row type has now.
//
// Between a row's insertion and its conversion the table may have changed: columns added (the row then has their
// default, as a reader of the table sees it), dropped, renamed, or retyped (the value goes through its text form); and
// rows of a partition have the partition's column order. Which column is which is decided by the table that the row was
// inserted into, as it was then.
#pragma once

#include "decode/event.hpp"

namespace pgq_ext::queue {

struct RowMap;

// Maps rows of the source to shape to, which the table of its handler number n has. Lives in the current memory context.
RowMap *MapRows(const decode::Source *source, int n, TupleDesc to);

// The row in the mapped shape, valid until the next one. Raises what a conversion of a retyped column raises; allocates
// in the current memory context.
TupleTableSlot *MapRow(RowMap *map, TupleTableSlot *row);

} // namespace pgq_ext::queue
