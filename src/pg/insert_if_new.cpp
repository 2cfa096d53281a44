// Inserting a row unless there is one like it: see table.hpp.
#include "pg/table.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "catalog/index.h"
}

namespace pgq_ext::pg {

// What the server needs to know of an index to find conflicts without raising them.
static void
PrepareIndexes(const Table &table)
{
	for (int i = 0; i < table.info->ri_NumIndices; i++) {
		IndexInfo *index = table.info->ri_IndexRelationInfo[i];

		if (index->ii_Unique && index->ii_UniqueProcs == nullptr)
			BuildSpeculativeIndexInfo(table.info->ri_IndexRelationDescs[i], index);
	}
}

// Inserts in a way that can be taken back when another transaction has been faster.
static bool
TryInsert(const Table &table)
{
	uint32 token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
	bool conflict = false;

	table_tuple_insert_speculative(table.relation, table.changed, GetCurrentCommandId(true), 0, nullptr, token);
	list_free(ExecInsertIndexTuplesSpeculatively(table.info, table.changed, table.estate, &conflict));
	table_tuple_complete_speculative(table.relation, table.changed, token, !conflict);
	SpeculativeInsertionLockRelease(GetCurrentTransactionId());
	return !conflict;
}

bool
InsertIfNew(const Table &table)
{
	ItemPointerData conflict;
	bool inserted = false;

	PrepareIndexes(table);
	while (!inserted && ExecCheckIndexConstraints(table.info, table.changed, table.estate, &conflict, NIL)) {
		CHECK_FOR_INTERRUPTS();
		inserted = TryInsert(table);
	}
	ResetPerTupleExprContext(table.estate);
	return inserted;
}

} // namespace pgq_ext::pg
