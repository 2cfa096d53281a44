// A table's row type without opening the table: see shape.hpp.
#include "queue/shape.hpp"

#include "pg/compat.hpp"
#include "pg/fault.hpp"

extern "C" {
#include "access/tupdesc_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

static int
ColumnCount(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relid)));
	int count = ((Form_pg_class)GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return count;
}

// The value that rows have which are older than the column: attmissingval is an array of one.
static void
SetMissing(AttrMissing *missing, HeapTuple tuple, Form_pg_attribute column)
{
	bool isnull;
	int one = 1;
	Datum array = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attmissingval, &isnull);

	if (isnull)
		return;
	Datum value = array_get_element(array, 1, &one, -1, column->attlen, column->attbyval, column->attalign, &isnull);
	missing->am_present = true;
	missing->am_value = datumCopy(value, column->attbyval, column->attlen);
}

TupleDesc
ShapeOf(Oid relid)
{
	int natts = ColumnCount(relid);
	TupleDesc shape = CreateTemplateTupleDesc(natts);
	AttrMissing *missing = (AttrMissing *)palloc0(Max(1, natts) * sizeof(AttrMissing));

	for (int i = 0; i < natts; i++) {
		HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i + 1));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "column %d of relation %u is missing", i + 1, relid);
		Form_pg_attribute column = TupleDescAttr(shape, i);
		memcpy(column, GETSTRUCT(tuple), ATTRIBUTE_FIXED_PART_SIZE);
		column->attcacheoff = -1;
		if (column->atthasmissing)
			SetMissing(&missing[i], tuple, column);
		ReleaseSysCache(tuple);
		pg::FaultPoint("within_shape");
	}
	shape->tdtypeid = get_rel_type_id(relid);
	shape->constr = (TupleConstr *)palloc0(sizeof(TupleConstr));
	shape->constr->missing = missing;
	return shape;
}

static Node *
AsRecord(const Var *row, TupleDesc shape)
{
	RowExpr *record = makeNode(RowExpr);

	for (int i = 0; i < shape->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(shape, i);
		if (column->attisdropped)
			continue;
		record->args = lappend(
			record->args, makeVar(row->varno, i + 1, column->atttypid, column->atttypmod, column->attcollation, 0));
		record->colnames = lappend(record->colnames, makeString(pstrdup(NameStr(column->attname))));
	}
	record->row_typeid = RECORDOID;
	record->row_format = COERCE_EXPLICIT_CALL;
	record->location = -1;
	return (Node *)record;
}

static bool
MakesJson(Oid function)
{
	return function == F_TO_JSONB || function == F_TO_JSON || function == F_ROW_TO_JSON_RECORD ||
		   function == F_ROW_TO_JSON_RECORD_BOOL;
}

static Node *
Mutate(Node *node, void *shape)
{
	if (node == nullptr)
		return nullptr;
	node = pg::MutateExpressionTree(node, Mutate, shape);
	if (!IsA(node, FuncExpr) || !MakesJson(((FuncExpr *)node)->funcid))
		return node;
	Node *argument = (Node *)linitial(((FuncExpr *)node)->args);
	if (IsA(argument, Var) && ((Var *)argument)->varattno == 0)
		lfirst(list_head(((FuncExpr *)node)->args)) = AsRecord((Var *)argument, (TupleDesc)shape);
	return node;
}

Node *
WithoutNamedRows(Node *expression, TupleDesc shape)
{
	return Mutate(expression, shape);
}

} // namespace pgq_ext::queue
