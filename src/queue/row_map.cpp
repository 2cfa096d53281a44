// Rows in the shape of their source: see row_map.hpp.
#include "queue/row_map.hpp"

#include "decode/source.hpp"
#include "queue/shape.hpp"

extern "C" {
#include "access/tupdesc_details.h"
#include "catalog/partition.h"
#include "executor/spi.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

struct RowMap {
	bool same;        // rows can be used as they are
	int *from_attnum; // per column of the target: column of the row, or 0 when the row has none
	TupleDesc from, to;
	TupleDesc holder; // the row's table now, which has the values of columns that are younger than the row; or nullptr
	TupleTableSlot *slot; // of shape to
};

// Column of the row that holds column attnum of the target; 0 when there is none.
static int
ColumnFor(TupleDesc from, const AttrNumber *columns, int attnum)
{
	if (columns == nullptr)
		return attnum <= from->natts ? attnum : 0;
	for (int i = 0; i < from->natts; i++)
		if (columns[i] == attnum)
			return i + 1;
	return 0;
}

// The table that rows came from, as it is now. A partition counts as long as it is one: its columns have the root's names.
static TupleDesc
HolderOf(Oid relid, Oid source, TupleDesc to)
{
	if (relid == source)
		return to;
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) || !get_rel_relispartition(relid) ||
		!list_member_oid(get_partition_ancestors(relid), source))
		return nullptr;
	return ShapeOf(relid);
}

RowMap *
MapRows(const decode::Source *source, int n, TupleDesc to)
{
	RowMap *map = (RowMap *)palloc0(sizeof(RowMap));
	const AttrNumber *columns = decode::ColumnsIn(source, source->handlers[n]->source);
	TupleDesc from = source->desc;

	map->from = from;
	map->to = to;
	map->holder = HolderOf(source->relid, source->handlers[n]->source, to);
	map->from_attnum = (int *)palloc0(Max(1, to->natts) * sizeof(int));
	map->slot = MakeSingleTupleTableSlot(to, &TTSOpsVirtual);
	map->same = from->natts == to->natts;
	for (int i = 0; i < to->natts; i++) {
		Form_pg_attribute att = TupleDescAttr(to, i);
		int attnum = att->attisdropped ? 0 : ColumnFor(from, columns, i + 1);

		map->from_attnum[i] = attnum;
		if (map->same) {
			Form_pg_attribute row = TupleDescAttr(from, i);
			map->same = row->attisdropped == att->attisdropped &&
						(att->attisdropped || (attnum == i + 1 && row->atttypid == att->atttypid));
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
	return OidInputFunctionCall(input, OidOutputFunctionCall(output, value), ioparam, to->atttypmod);
}

// Value of the target's column i in rows that are older than it: the default it was added with, where the server still
// has it.
static Datum
YoungerValue(RowMap *map, int i, bool *isnull)
{
	int attnum = map->holder == map->to   ? i + 1
				 : map->holder != nullptr ? SPI_fnumber(map->holder, NameStr(TupleDescAttr(map->to, i)->attname))
										  : 0;

	*isnull = true;
	return attnum > 0 ? getmissingattr(map->holder, attnum, isnull) : (Datum)0;
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
		return YoungerValue(map, i, isnull);
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
