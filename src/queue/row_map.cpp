// Rows in the shape of their source: see row_map.hpp.
#include "queue/row_map.hpp"

extern "C" {
#include "access/tupdesc_details.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

struct RowMap {
	bool same;            // rows can be used as they are
	int *from_attnum;     // per column of the target: column of the row, or 0 when the row has none
	TupleDesc from, to;
	TupleTableSlot *slot; // of shape to
};

// Column of the row that holds the target's column named name; 0 when there is none. A partition that still exists is
// asked for its present names: it may have been renamed since, together with its root.
static int
AttnumByName(TupleDesc from, Oid from_relid, const char *name)
{
	AttrNumber attnum = get_attnum(from_relid, name);

	if (attnum != InvalidAttrNumber)
		return attnum <= from->natts ? attnum : 0;
	for (int i = 0; i < from->natts; i++) {
		Form_pg_attribute att = TupleDescAttr(from, i);
		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return i + 1;
	}
	return 0;
}

RowMap *
MapRows(TupleDesc from, Oid from_relid, TupleDesc to, Oid to_relid)
{
	RowMap *map = (RowMap *)palloc0(sizeof(RowMap));

	map->from = from;
	map->to = to;
	map->from_attnum = (int *)palloc0(Max(1, to->natts) * sizeof(int));
	map->slot = MakeSingleTupleTableSlot(to, &TTSOpsVirtual);
	map->same = from->natts == to->natts;
	for (int i = 0; i < to->natts; i++) {
		Form_pg_attribute att = TupleDescAttr(to, i);
		int attnum = 0;

		if (!att->attisdropped)
			attnum = from_relid != to_relid ? AttnumByName(from, from_relid, NameStr(att->attname))
					 : i < from->natts		? i + 1
											: 0;
		map->from_attnum[i] = attnum;
		if (map->same) {
			Form_pg_attribute row = TupleDescAttr(from, i);
			map->same = row->attisdropped == att->attisdropped &&
						(att->attisdropped ||
						 (attnum == i + 1 && row->atttypid == att->atttypid));
		}
	}
	return map;
}

static Datum
ThroughText(Datum value, Oid from_type, Form_pg_attribute to)
{
	Oid output, input, ioparam;
	bool is_varlena;

	getTypeOutputInfo(from_type, &output, &is_varlena);
	getTypeInputInfo(to->atttypid, &input, &ioparam);
	return OidInputFunctionCall(input, OidOutputFunctionCall(output, value), ioparam,
								to->atttypmod);
}

// Value of the target's column i; the row may be older than the column.
static Datum
MappedValue(RowMap *map, TupleTableSlot *row, int i, bool *isnull)
{
	Form_pg_attribute to = TupleDescAttr(map->to, i);
	int attnum = map->from_attnum[i];

	*isnull = true;
	if (to->attisdropped)
		return (Datum)0;
	if (attnum == 0)
		return getmissingattr(map->to, i + 1, isnull);
	Form_pg_attribute from = TupleDescAttr(map->from, attnum - 1);
	if (from->attisdropped)
		return (Datum)0;
	Datum value = slot_getattr(row, attnum, isnull);
	if (*isnull || from->atttypid == to->atttypid)
		return value;
	return ThroughText(value, from->atttypid, to);
}

TupleTableSlot *
MapRow(RowMap *map, TupleTableSlot *row)
{
	if (map->same)
		return row;
	ExecClearTuple(map->slot);
	for (int i = 0; i < map->to->natts; i++)
		map->slot->tts_values[i] = MappedValue(map, row, i, &map->slot->tts_isnull[i]);
	return ExecStoreVirtualTuple(map->slot);
}

} // namespace pgq_ext::queue
