// A handler's expressions as a view: see rule_view.hpp.
#include "queue/rule_view.hpp"

#include "pg/extension.hpp"
#include "queue/expression.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_rewrite.h"
#include "commands/comment.h"
#include "commands/tablecmds.h"
#include "commands/view.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "rewrite/rewriteSupport.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

// Number of the range table entry that the expressions of a rule's query refer to.
static int
SourceIndex(const Query *query)
{
	return linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
}

Query *
BindRule(const char *handler, Oid source, const RuleText &text, Query *keep)
{
	Query *rule = nullptr;
	List *targets = NIL;

	for (int i = 0; i < kRuleColumns; i++) {
		bool kept = keep != nullptr && text.of[i] == nullptr;
		Query *query = kept ? nullptr : BindExpression(handler, source, i, text.of[i]);
		TargetEntry *target;

		if (kept) {
			target = (TargetEntry *)copyObjectImpl(list_nth(keep->targetList, i));
			ChangeVarNodes((Node *)target, SourceIndex(keep), 1, 0);
		} else {
			target = linitial_node(TargetEntry, query->targetList);
		}
		if (rule == nullptr && query != nullptr)
			rule = query;
		target->resno = i + 1;
		targets = lappend(targets, target);
	}
	if (rule == nullptr) // all kept: the range table of any expression serves
		rule = BindExpression(handler, source, kMatches, nullptr);
	rule->targetList = targets;
	return rule;
}

Query *
WithDefault(const char *handler, Oid source, Query *rule, int column)
{
	Query *query = BindExpression(handler, source, column, nullptr);
	Query *changed = (Query *)copyObjectImpl(rule);
	TargetEntry *target = linitial_node(TargetEntry, query->targetList);

	ChangeVarNodes((Node *)target, SourceIndex(query), SourceIndex(rule), 0);
	target->resno = column + 1;
	lfirst(list_nth_cell(changed->targetList, column)) = target;
	return changed;
}

static List *
ColumnDefinitions(const Query *query)
{
	List *columns = NIL;
	ListCell *lc;

	foreach (lc, query->targetList) {
		TargetEntry *target = lfirst_node(TargetEntry, lc);
		Node *expression = (Node *)target->expr;
		Oid collation = exprCollation(expression);

		// A key's collation does not matter, keys are compared byte by byte; the view's column only has to have one.
		if (OidIsValid(get_typcollation(exprType(expression))) && !OidIsValid(collation))
			collation = C_COLLATION_OID;
		columns =
			lappend(columns, makeColumnDef(target->resname, exprType(expression), exprTypmod(expression), collation));
	}
	return columns;
}

static Oid
SchemaOwner(Oid schema)
{
	HeapTuple tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Oid owner = ((Form_pg_namespace)GETSTRUCT(tuple))->nspowner;

	ReleaseSysCache(tuple);
	return owner;
}

void
GoWithExtension(Oid view)
{
	ObjectAddress dependent, extension;

	ObjectAddressSet(dependent, RelationRelationId, view);
	ObjectAddressSet(extension, ExtensionRelationId, pg::FindExtension().oid);
	deleteDependencyRecordsForSpecific(RelationRelationId, view, DEPENDENCY_AUTO_EXTENSION, ExtensionRelationId,
									   extension.objectId);
	recordDependencyOn(&dependent, &extension, DEPENDENCY_AUTO_EXTENSION);
}

// Temporary functions and types go with their session, and would take the view along.
static void
RefuseTemporary(const ObjectAddress &used)
{
	Oid schema = used.classId == NamespaceRelationId ? InvalidOid : get_object_namespace(&used);

	if (OidIsValid(schema) && isAnyTempNamespace(schema))
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("an expression of a handler must not use temporary objects"),
						errdetail("It uses %s.", getObjectDescription(&used, false))));
}

// Looks at all that the view's query depends on.
static void
CheckDependencies(Oid view)
{
	Relation depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	HeapTuple tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RewriteRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(get_rewrite_oid(view, "_RETURN", false)));
	SysScanDesc scan = systable_beginscan(depend, DependDependerIndexId, true, nullptr, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
		Form_pg_depend row = (Form_pg_depend)GETSTRUCT(tuple);
		RefuseTemporary(ObjectAddress{row->refclassid, row->refobjid, row->refobjsubid});
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
}

// As DefineView does, but that the view is in our schema and belongs to the handler's owner, whatever he may do there.
Oid
CreateRuleView(Oid schema, const char *name, const char *comment, Oid owner, Query *query)
{
	CreateStmt *create = makeNode(CreateStmt);
	Oid user;
	int context;

	create->relation = makeRangeVar(get_namespace_name(schema), pstrdup(name), -1);
	create->tableElts = ColumnDefinitions(query);
	create->oncommit = ONCOMMIT_NOOP;
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(SchemaOwner(schema), context | SECURITY_LOCAL_USERID_CHANGE);
	Oid view = DefineRelation(create, RELKIND_VIEW, owner, nullptr, nullptr).objectId;
	SetUserIdAndSecContext(user, context);
	CommandCounterIncrement();
	StoreViewQuery(view, query, false);
	GoWithExtension(view);
	CreateComments(view, RelationRelationId, 0, comment);
	CommandCounterIncrement();
	CheckDependencies(view);
	return view;
}

// Whether the query is one of ours: expressions over source and nothing else. The view belongs to the handler's owner,
// who may have replaced its query by any other.
static bool
IsRuleOver(const Query *query, Oid source)
{
	if (query->commandType != CMD_SELECT || query->setOperations != nullptr || query->cteList != NIL ||
		query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs || query->hasSubLinks ||
		query->jointree->quals != nullptr || list_length(query->jointree->fromlist) != 1 ||
		list_length(query->targetList) != kRuleColumns)
		return false;

	Node *from = (Node *)linitial(query->jointree->fromlist);
	if (!IsA(from, RangeTblRef))
		return false;
	RangeTblEntry *entry = rt_fetch(((RangeTblRef *)from)->rtindex, query->rtable);
	return entry->rtekind == RTE_RELATION && entry->relid == source;
}

// Reads ev_action of a view's rule: pg_rewrite is looked up by name, without opening the view.
Query *
RuleQuery(Oid rule, Oid source, Oid *owner)
{
	HeapTuple view = SearchSysCache1(RELOID, ObjectIdGetDatum(rule));
	HeapTuple rewrite = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(rule), CStringGetDatum("_RETURN"));
	Query *query = nullptr;

	if (HeapTupleIsValid(view) && HeapTupleIsValid(rewrite)) {
		bool isnull;
		Datum action = SysCacheGetAttr(RULERELNAME, rewrite, Anum_pg_rewrite_ev_action, &isnull);
		query = linitial_node(Query, (List *)stringToNode(TextDatumGetCString(action)));
		if (!IsRuleOver(query, source))
			query = nullptr;
		*owner = ((Form_pg_class)GETSTRUCT(view))->relowner;
	}
	if (HeapTupleIsValid(rewrite))
		ReleaseSysCache(rewrite);
	if (HeapTupleIsValid(view))
		ReleaseSysCache(view);
	return query;
}

void
DropRuleView(Oid view)
{
	ObjectAddress address;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(view)))
		return;
	ObjectAddressSet(address, RelationRelationId, view);
	performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
}

} // namespace pgq_ext::queue
