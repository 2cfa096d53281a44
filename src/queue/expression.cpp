// One expression of a handler: see expression.hpp.
#include "queue/expression.hpp"

extern "C" {
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parser.h"
}

namespace pgq_ext::queue {

// What an error in an expression is reported with.
struct ErrorPlace {
	const char *handler;
	const char *column;
	const char *text;
};

// Turns a position in the expression, which the client would take for one in its own statement, into a position in the
// text that is shown with the error.
static void
ExpressionErrorCallback(void *arg)
{
	const ErrorPlace *place = (const ErrorPlace *)arg;
	int position = geterrposition();

	if (place->text == nullptr)
		return;
	if (position > 0) {
		errposition(0);
		internalerrposition(position);
		internalerrquery(place->text);
	}
	errcontext("expression \"%s\" of handler \"%s\"", place->column, place->handler);
}

static TypeName *
CastOf(int column)
{
	switch (column) {
	case kSerializationKey:
		return SystemTypeName(pstrdup("text"));
	case kPriority:
		return SystemTypeName(pstrdup("int4"));
	case kArgs:
		return SystemTypeName(pstrdup("jsonb"));
	default:
		return nullptr; // a filter must be boolean by itself
	}
}

// What stands for an expression that is not given.
static const char *
DefaultText(int column, const char *row)
{
	switch (column) {
	case kMatches:
		return "true";
	case kSerializationKey:
		return "NULL";
	case kPriority:
		return "0";
	default:
		return psprintf("pg_catalog.to_jsonb(%s.*)", quote_identifier(row));
	}
}

// Whether the node is a bare *, which stands for a list of expressions; the analysis of one would crash on it.
static bool
IsStar(Node *expression)
{
	return IsA(expression, ColumnRef) && IsA(linitial(castNode(ColumnRef, expression)->fields), A_Star);
}

// Parses text as one expression and nothing else: no clause of a query can be smuggled in with it.
static Node *
ParseExpression(const char *text)
{
	List *parsed = raw_parser(text, RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = castNode(SelectStmt, linitial_node(RawStmt, parsed)->stmt);
	SelectStmt *bare = makeNode(SelectStmt);
	ResTarget *target = select->targetList != NIL ? linitial_node(ResTarget, select->targetList) : nullptr;

	bare->targetList = select->targetList;
	bare->limitOption = select->limitOption;
	if (list_length(select->targetList) != 1 || !equal(bare, select) || target->name != nullptr || IsStar(target->val))
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a single expression is needed")));
	return target->val;
}

static ResTarget *
MakeTarget(int column, const char *text)
{
	ResTarget *target = makeNode(ResTarget);
	TypeName *type = CastOf(column);
	Node *expression = ParseExpression(text);

	if (type != nullptr) {
		TypeCast *cast = makeNode(TypeCast);
		cast->arg = expression;
		cast->typeName = type;
		cast->location = -1;
		expression = (Node *)cast;
	}
	target->name = pstrdup(kRuleColumnNames[column]);
	target->val = expression;
	target->location = -1;
	return target;
}

// An event is a row as it was written, without a place in a table.
static bool
UsesSystemColumn(Node *expression)
{
	Bitmapset *columns = nullptr;

	pull_varattnos(expression, 1, &columns);
	return !bms_is_empty(columns) && bms_next_member(columns, -1) + FirstLowInvalidHeapAttributeNumber < 0;
}

static void
CheckQuery(const Query *query)
{
	const char *what = query->hasSubLinks      ? "subqueries"
					   : query->hasAggs        ? "aggregate functions"
					   : query->hasWindowFuncs ? "window functions"
					   : query->hasTargetSRFs  ? "set-returning functions"
											   : nullptr;

	if (what != nullptr)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("%s are not allowed in an expression of a handler", what),
						errhint("An expression sees one row; a function that it calls may do more.")));
	if (list_length(query->targetList) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a single expression is needed")));
	if (UsesSystemColumn((Node *)query->targetList))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("system columns are not allowed in an expression of a handler")));
}

// SELECT expression FROM source, analyzed: the expression is bound as it would be in a view.
static Query *
Analyze(Oid source, int column, const char *text)
{
	SelectStmt *select = makeNode(SelectStmt);
	RawStmt *statement = makeNode(RawStmt);

	select->targetList = list_make1(MakeTarget(column, text));
	select->fromClause =
		list_make1(makeRangeVar(get_namespace_name(get_rel_namespace(source)), get_rel_name(source), -1));
	statement->stmt = (Node *)select;
	Query *query = parse_analyze_fixedparams(statement, text, nullptr, 0, nullptr);
	CheckQuery(query);
	return query;
}

Query *
BindExpression(const char *handler, Oid source, int column, const char *text)
{
	ErrorPlace place = {handler, column == kMatches ? "filter" : kRuleColumnNames[column], text};
	ErrorContextCallback callback = {error_context_stack, ExpressionErrorCallback, &place};

	if (text == nullptr)
		text = DefaultText(column, get_rel_name(source));
	error_context_stack = &callback;
	Query *query = Analyze(source, column, text);
	Node *expression = (Node *)linitial_node(TargetEntry, query->targetList)->expr;
	if (column == kMatches && exprType(expression) != BOOLOID)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("filter must be of type boolean, not %s", format_type_be(exprType(expression)))));
	error_context_stack = callback.previous;
	return query;
}

} // namespace pgq_ext::queue
