// Making sources: see source.hpp.
#include "decode/source.hpp"

extern "C" {
#include "catalog/partition.h"
#include "utils/lsyscache.h"
}

namespace pgq_ext::decode {

// Columns of a partition have the names of its root's, at any one time. Later their numbers alone can be relied on: the
// partition may be gone then, or have columns of its own.
static AttrNumber *
ColumnsOf(Oid relid, TupleDesc partition)
{
	AttrNumber *columns = (AttrNumber *)palloc0(Max(1, partition->natts) * sizeof(AttrNumber));

	for (int i = 0; i < partition->natts; i++) {
		Form_pg_attribute att = TupleDescAttr(partition, i);
		if (!att->attisdropped)
			columns[i] = get_attnum(relid, NameStr(att->attname));
	}
	return columns;
}

static void
SetAncestors(Source *source)
{
	List *ancestors = get_partition_ancestors(source->relid);
	ListCell *lc;

	source->nancestors = list_length(ancestors);
	source->ancestors = (Ancestor *)palloc0(Max(1, source->nancestors) * sizeof(Ancestor));
	foreach (lc, ancestors)
		source->ancestors[foreach_current_index(lc)] = {lfirst_oid(lc), ColumnsOf(lfirst_oid(lc), source->desc)};
}

Source *
NewSource(Relation relation, bool requests)
{
	Source *source = (Source *)palloc0(sizeof(Source));

	source->relid = RelationGetRelid(relation);
	source->requests = requests;
	source->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	if (relation->rd_rel->relispartition)
		SetAncestors(source);
	return source;
}

void
SetHandlers(Source *source, const List *handlers)
{
	ListCell *lc;

	source->nhandlers = list_length(handlers);
	source->handlers = (Handler **)palloc0(Max(1, source->nhandlers) * sizeof(Handler *));
	foreach (lc, handlers)
		source->handlers[foreach_current_index(lc)] = (Handler *)lfirst(lc);
}

bool
SameColumns(const Source *a, const Source *b)
{
	if (!equalTupleDescs(a->desc, b->desc) || a->nancestors != b->nancestors)
		return false;
	for (int i = 0; i < a->nancestors; i++)
		if (a->ancestors[i].relid != b->ancestors[i].relid ||
			memcmp(a->ancestors[i].columns, b->ancestors[i].columns, a->desc->natts * sizeof(AttrNumber)) != 0)
			return false;
	return true;
}

const AttrNumber *
ColumnsIn(const Source *source, Oid relid)
{
	if (relid == source->relid)
		return nullptr;
	for (int i = 0; i < source->nancestors; i++)
		if (source->ancestors[i].relid == relid)
			return source->ancestors[i].columns;
	elog(ERROR, "table %u was no partition of table %u", source->relid, relid);
}

} // namespace pgq_ext::decode
