// Rows that are inserted into a table together: at once into its pages, and then into one index after the other. An index is
// written faster so, the more as its pages are met in their order.
#pragma once

#include "pg/table.hpp"

namespace pgq_ext::pg {

struct Rows {
	MemoryContext context; // holds the Rows and the slots
	MemoryContext tuples;  // reset by InsertRows
	TupleDesc desc;
	TupleTableSlot **slots; // as many as there have ever been rows at once
	int nslots;
	int n;
	Size bytes;
};

// Without any row. Lives in a child of the current memory context.
Rows *NewRows(const Table &table);

// Adds a copy of table.changed, and inserts the rows when there are enough of them.
void AddRow(const Table &table, Rows *rows);

// Inserts the rows in their order, maintains the indexes, and forgets the rows. Until then nobody finds them in the table.
void InsertRows(const Table &table, Rows *rows);

} // namespace pgq_ext::pg
