// Compiling and evaluating a handler's expressions: see rule.hpp.
#include "queue/rule.hpp"

#include "pg/table.hpp"
#include "queue/handler_checks.hpp"
#include "queue/queue_use.hpp"
#include "queue/restricted.hpp"
#include "queue/row_map.hpp"
#include "queue/rule_view.hpp"
#include "queue/shape.hpp"

extern "C" {
#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/spi.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

constexpr Size kLargestValue = 128 * 1024 * 1024;

// A handler's expressions, planned. Lives in a context of its own until the catalog changes under it.
struct Rule {
	MemoryContext context;
	uint64 generation;
	Expr *exprs[kRuleColumns];
	Oid owner;
	Oid row_owner;    // as whom a row is converted, and rendered where that is all that args does
	bool whole_row;   // args is the row itself
	TupleDesc source; // row type of the handler's source
};

struct Evaluation {
	const Rule *rule;
	ExprState *states[kRuleColumns];
	ExprContext *econtext;
	RowMap *map;
};

// Moves whenever something that a compiled expression depends on may have changed.
static uint64 generation = 1;

uint64
RuleGeneration()
{
	return generation;
}

static void
SyscacheCallback(Datum, int, uint32)
{
	generation++;
}

static void
RelcacheCallback(Datum, Oid)
{
	generation++;
}

void
WatchRules()
{
	static const int caches[] = {PROCOID, TYPEOID, OPEROID, AUTHOID, AUTHMEMMEMROLE};

	CacheRegisterRelcacheCallback(RelcacheCallback, (Datum)0);
	for (int cache : caches)
		CacheRegisterSyscacheCallback(cache, SyscacheCallback, (Datum)0);
}

// The query that retiring kept in the handler's row.
static Query *
RetiredQuery(Oid schema, int64 handler_id, Oid *owner)
{
	pg::Table table = pg::Open(schema, "pgq_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	Query *query = nullptr;
	bool isnull;

	if (pg::FindByInt64(table, "pgq_handler_pkey", snapshot, handler_id)) {
		TupleDesc desc = RelationGetDescr(table.relation);
		Datum rule = pg::Get(table.row, SPI_fnumber(desc, "retired_rule"), &isnull);
		if (!isnull) {
			query = (Query *)stringToNode(TextDatumGetCString(rule));
			*owner = DatumGetObjectId(pg::Get(table.row, SPI_fnumber(desc, "owner"), &isnull));
		}
	}
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
	return query;
}

static Query *
QueryOf(Oid schema, const decode::Handler *handler, Oid *owner)
{
	Query *query = RuleQuery(handler->rule, handler->source, owner);

	if (query == nullptr)
		query = RetiredQuery(schema, handler->id, owner);
	if (query == nullptr)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("handler \"%s\" has lost its source", handler->name),
						errdetail("The table, or a column, type or function that its expressions use, "
								  "was dropped with CASCADE, or its view was replaced.")));
	return query;
}

// Whether the expression is to_jsonb of the row, as it is by default.
static bool
IsWholeRow(const Expr *expression)
{
	const FuncExpr *call = (const FuncExpr *)expression;

	if (!IsA(expression, FuncExpr) || call->funcid != F_TO_JSONB || !IsA(linitial(call->args), Var))
		return false;
	return linitial_node(Var, call->args)->varattno == 0;
}

static void
Compile(Oid schema, const decode::Handler *handler, Rule *rule)
{
	Query *query = QueryOf(schema, handler, &rule->owner);

	rule->source = ShapeOf(handler->source);
	rule->row_owner = RowOwner(handler->source, rule->owner);
	rule->whole_row = IsWholeRow(list_nth_node(TargetEntry, query->targetList, kArgs)->expr);
	Restricted saved = EnterRestricted(rule->owner); // planning evaluates what is constant
	for (int i = 0; i < kRuleColumns; i++) {
		TargetEntry *target = (TargetEntry *)list_nth(query->targetList, i);
		rule->exprs[i] = expression_planner((Expr *)WithoutNamedRows((Node *)target->expr, rule->source));
	}
	LeaveRestricted(saved);
}

void
ForgetRule(decode::Handler *handler)
{
	Rule *rule = (Rule *)handler->compiled;

	handler->compiled = nullptr;
	if (rule != nullptr)
		MemoryContextDelete(rule->context);
}

static const Rule *
CompiledRule(Oid schema, decode::Handler *handler)
{
	Rule *rule = (Rule *)handler->compiled;

	if (rule != nullptr && rule->generation == generation)
		return rule;
	ForgetRule(handler);

	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext rule", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	rule = (Rule *)palloc0(sizeof(Rule));
	rule->context = context;
	rule->generation = generation;
	Compile(schema, handler, rule);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, CacheMemoryContext);
	handler->compiled = rule;
	return rule;
}

// The rule and the map of its rows, which see the source and the table that the rows came from in one shape: no lock keeps
// who alters them from committing between two looks. Under debug_discard_caches every look moves the generation.
static const Rule *
RuleWithMap(Oid schema, const decode::Source *source, int i, RowMap **map)
{
	const Rule *rule;

	do {
		CHECK_FOR_INTERRUPTS();
		rule = CompiledRule(schema, source->handlers[i]);
		*map = MapRows(source, i, rule->source);
		AcceptInvalidationMessages();
	} while (rule->generation != generation && debug_discard_caches == 0);
	return rule;
}

Evaluation *
BeginEvaluation(Oid schema, const decode::Source *source, int i)
{
	decode::Handler *handler = source->handlers[i];
	Evaluation *evaluation = (Evaluation *)palloc0(sizeof(Evaluation));
	const Rule *rule = RuleWithMap(schema, source, i, &evaluation->map);

	CheckReadable(handler->source, rule->owner);
	UseQueue(schema, handler); // who dropped the handler may have dropped its queue: nobody could work the jobs
	evaluation->rule = rule;
	evaluation->econtext = CreateStandaloneExprContext();
	Restricted saved = EnterRestricted(rule->owner);
	for (int column = 0; column < kRuleColumns; column++)
		evaluation->states[column] = ExecInitExpr(rule->exprs[column], nullptr);
	LeaveRestricted(saved);
	return evaluation;
}

// A job must fit into a row, and, written out with up to six bytes for one, into what a client can be sent: a larger one
// could never be handed out, and would keep the queue from its others.
static void
CheckSize(const Verdict &verdict)
{
	Size key = verdict.serialization_key == nullptr ? 0 : VARSIZE_ANY(verdict.serialization_key);
	Size args = verdict.args_null ? 0 : toast_raw_datum_size(verdict.args);

	if (key > kLargestValue || args > kLargestValue)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("serialization_key or args of a job is larger than %zu MB", kLargestValue / (1024 * 1024))));
}

static Verdict
EvaluateRestricted(Evaluation *evaluation)
{
	ExprContext *econtext = evaluation->econtext;
	Verdict verdict = {};
	bool isnull;

	verdict.matches = DatumGetBool(ExecEvalExpr(evaluation->states[kMatches], econtext, &isnull)) && !isnull;
	if (!verdict.matches)
		return verdict;
	Datum key = ExecEvalExpr(evaluation->states[kSerializationKey], econtext, &isnull);
	verdict.serialization_key = isnull ? nullptr : DatumGetTextPP(key);
	verdict.priority = DatumGetInt32(ExecEvalExpr(evaluation->states[kPriority], econtext, &isnull));
	if (isnull)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("priority must not be NULL")));
	Restricted saved =
		EnterRestricted(evaluation->rule->whole_row ? evaluation->rule->row_owner : evaluation->rule->owner);
	verdict.args = ExecEvalExpr(evaluation->states[kArgs], econtext, &verdict.args_null);
	LeaveRestricted(saved);
	CheckSize(verdict);
	return verdict;
}

Verdict
Evaluate(Evaluation *evaluation, TupleTableSlot *row)
{
	ExprContext *econtext = evaluation->econtext;

	ResetExprContext(econtext);
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	Restricted saved = EnterRestricted(evaluation->rule->row_owner);
	econtext->ecxt_scantuple = MapRow(evaluation->map, row);
	LeaveRestricted(saved);
	saved = EnterRestricted(evaluation->rule->owner);
	Verdict verdict = EvaluateRestricted(evaluation);
	LeaveRestricted(saved);
	MemoryContextSwitchTo(old);
	return verdict;
}

} // namespace pgq_ext::queue
