// Many rows at once: see rows.hpp.
#include "pg/rows.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "nodes/execnodes.h"
}

namespace pgq_ext::pg {

constexpr int kMaxRows = 5000;
constexpr Size kMaxBytes = 4 * 1024 * 1024;

// A row's place in the order in which an index gets the rows.
struct Ranked {
	int64 value;
	int row;
};

Rows *
NewRows(const Table &table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	auto *rows = static_cast<Rows *>(palloc0(sizeof(Rows)));

	rows->context = context;
	rows->tuples = AllocSetContextCreate(context, "pgq_ext tuples", ALLOCSET_DEFAULT_SIZES);
	rows->desc = CreateTupleDescCopy(RelationGetDescr(table.relation)); // not counted: slots come and go without notice
	MemoryContextSwitchTo(old);
	return rows;
}

static TupleTableSlot *
NextSlot(Rows *rows)
{
	if (rows->n == rows->nslots) {
		MemoryContext old = MemoryContextSwitchTo(rows->context);
		int room = Max(1, 2 * rows->nslots);
		Size size = room * sizeof(TupleTableSlot *);

		rows->slots =
			static_cast<TupleTableSlot **>(rows->slots == nullptr ? palloc(size) : repalloc(rows->slots, size));
		for (; rows->nslots < room; rows->nslots++)
			rows->slots[rows->nslots] = MakeSingleTupleTableSlot(rows->desc, &TTSOpsHeapTuple);
		MemoryContextSwitchTo(old);
	}
	return rows->slots[rows->n++];
}

static int
CompareRanked(const void *a, const void *b)
{
	const auto *x = static_cast<const Ranked *>(a);
	const auto *y = static_cast<const Ranked *>(b);

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->row - y->row;
}

// The order in which the index gets the rows: that of its first column where that is a bigint, or else their own.
static void
Rank(const Rows &rows, const IndexInfo *index, Ranked *ranked)
{
	AttrNumber column = index->ii_IndexAttrNumbers[0];
	bool by_value = column > 0 && TupleDescAttr(rows.desc, column - 1)->atttypid == INT8OID;
	bool isnull;

	for (int i = 0; i < rows.n; i++)
		ranked[i] = Ranked{by_value ? DatumGetInt64(slot_getattr(rows.slots[i], column, &isnull)) : 0, i};
	if (by_value)
		qsort(ranked, rows.n, sizeof(Ranked), CompareRanked);
}

void
InsertRows(const Table &table, Rows *rows)
{
	if (rows->n == 0)
		return;
	MemoryContext old = MemoryContextSwitchTo(rows->tuples);
	auto *ranked = static_cast<Ranked *>(palloc(rows->n * sizeof(Ranked)));

	table_multi_insert(table.relation, rows->slots, rows->n, GetCurrentCommandId(true), 0, nullptr);
	for (int i = 0; i < table.info->ri_NumIndices; i++) {
		Rank(*rows, table.info->ri_IndexRelationInfo[i], ranked);
		for (int j = 0; j < rows->n; j++) {
			CHECK_FOR_INTERRUPTS();
			InsertIndexEntry(table, i, rows->slots[ranked[j].row], Replaces::Nothing);
		}
	}
	for (int i = 0; i < rows->n; i++)
		ExecClearTuple(rows->slots[i]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->tuples);
	rows->n = 0;
	rows->bytes = 0;
}

void
AddRow(const Table &table, Rows *rows)
{
	Assert(!TTS_EMPTY(table.changed));
	MemoryContext old = MemoryContextSwitchTo(rows->tuples);
	HeapTuple tuple = heap_form_tuple(rows->desc, table.changed->tts_values, table.changed->tts_isnull);

	MemoryContextSwitchTo(old);
	rows->bytes += tuple->t_len;
	ExecStoreHeapTuple(tuple, NextSlot(rows), true); // what is not the slot's own is copied when it is inserted
	if (rows->n >= kMaxRows || rows->bytes >= kMaxBytes)
		InsertRows(table, rows);
}

} // namespace pgq_ext::pg
