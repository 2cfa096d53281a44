// Events that could not be converted: see event_error.hpp.
#include "queue/event_error.hpp"

#include "queue/job.hpp"
#include "queue/operations.hpp"
#include "queue/restricted.hpp"
#include "queue/rule_view.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/pg_lsn.h"
#include "utils/typcache.h"
}

namespace pgq_ext::queue {

using namespace error_column;

static void
SetError(const pg::Table &table, const decode::Handler *handler, const ErrorData *error)
{
	pg::Set(table, kHandlerId, Int64GetDatum(handler->id));
	pg::Set(table, kSqlstate, CStringGetTextDatum(unpack_sql_state(error->sqlerrcode)));
	pg::Set(table, kError, CStringGetTextDatum(error->message != nullptr ? error->message : "unknown error"));
	pg::Set(table, kOccurredAt, TimestampTzGetDatum(GetCurrentTimestamp()));
}

void
RecordEventError(Oid schema, const decode::Handler *handler, const decode::Run *run, TupleTableSlot *row,
				 const ErrorData *error, Made *made)
{
	Datum json;
	bool shown = ShowRow(row, &json);

	if (made != nullptr && TakeError(made, handler->id, shown ? json : (Datum)0))
		return;
	pg::Table table = pg::Open(schema, "pgq_event_error");
	Oid ids = pg::RelationNamed(schema, "pgq_event_error_error_id_seq");

	pg::StartRow(table);
	pg::Set(table, kErrorId, Int64GetDatum(nextval_internal(ids, false)));
	pg::Set(table, kHandler, CStringGetTextDatum(handler->name));
	pg::Set(table, kSource, ObjectIdGetDatum(handler->source));
	if (shown)
		pg::Set(table, kEvent, json);
	pg::Set(table, kLsn, LSNGetDatum(run->lsn));
	pg::Set(table, kCommittedAt, TimestampTzGetDatum(run->committed_at));
	SetError(table, handler, error);
	pg::Insert(table);
	pg::Close(&table);
}

bool
RequestEventRetry(Oid schema, int64 error_id)
{
	pg::Table errors = pg::Open(schema, "pgq_event_error");
	Snapshot snapshot = pg::FreshSnapshot();
	bool isnull = true;

	if (pg::FindByInt64(errors, "pgq_event_error_pkey", snapshot, error_id))
		(void)pg::Get(errors.row, kEvent, &isnull);
	UnregisterSnapshot(snapshot);
	pg::Close(&errors);
	if (!isnull)
		Ask(schema, RequestKind::RetryEvent, error_id);
	return !isnull;
}

static decode::Handler *
HandlerNamed(List *handlers, const char *name)
{
	ListCell *lc;

	foreach (lc, handlers)
		if (strcmp(((decode::Handler *)lfirst(lc))->name, name) == 0)
			return (decode::Handler *)lfirst(lc);
	return nullptr;
}

// The event as a value of the source's row type, as jsonb_populate_record makes it.
static Datum
RecordOf(Datum event, Oid rowtype, Oid owner)
{
	Const *none = makeNullConst(rowtype, -1, InvalidOid);
	Const *json = makeConst(JSONBOID, -1, InvalidOid, -1, event, false, false);
	FuncExpr *populate = makeFuncExpr(F_JSONB_POPULATE_RECORD, rowtype, list_make2(none, json), InvalidOid, InvalidOid,
									  COERCE_EXPLICIT_CALL);
	bool isnull;

	Restricted saved = EnterRestricted(owner);
	Datum record = ExecEvalExpr(ExecInitExpr((Expr *)populate, nullptr), CreateStandaloneExprContext(), &isnull);
	LeaveRestricted(saved);
	return record;
}

// The event's values all have their columns; they are known by name only, and one whose column was renamed or dropped
// since must not turn into NULL.
static void
RequireColumns(Datum event, TupleDesc shape)
{
	JsonbIterator *values = JsonbIteratorInit(&DatumGetJsonbP(event)->root);
	JsonbIteratorToken token;
	JsonbValue value;
	const char *column = nullptr;

	while ((token = JsonbIteratorNext(&values, &value, true)) != WJB_DONE) {
		if (token == WJB_KEY)
			column = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE && value.type != jbvNull && SPI_fnumber(shape, column) <= 0)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("the event has a column \"%s\", which its source no longer has", column)));
	}
}

static Verdict
EvaluateEvent(Oid schema, decode::Handler *handler, Datum event)
{
	Oid rowtype = get_rel_type_id(handler->source);
	TupleDesc shape = lookup_rowtype_tupdesc(rowtype, -1);
	TupleTableSlot *row = MakeSingleTupleTableSlot(shape, &TTSOpsVirtual);
	decode::Source source = {};
	Oid owner = handler->owner;

	(void)RuleQuery(handler->rule, handler->source, &owner);
	source.relid = handler->source;
	source.desc = shape;
	source.nhandlers = 1;
	source.handlers = &handler;
	Evaluations evaluations = StartEvaluations(schema, &source);
	RequireColumns(event, shape);
	ExecStoreHeapTupleDatum(RecordOf(event, rowtype, RowOwner(handler->source, owner)), row);
	Verdict verdict = EvaluateOrRaise(&evaluations, 0, row);
	ExecDropSingleTupleTableSlot(row);
	ReleaseTupleDesc(shape);
	return verdict;
}

Reconsidered
ReconsiderEvent(Oid schema, List *handlers, int64 error_id, int timeout_ms)
{
	pg::Table errors = pg::Open(schema, "pgq_event_error");
	Snapshot snapshot = pg::FreshSnapshot();
	Reconsidered result = {};
	bool isnull;

	if (pg::FindByInt64(errors, "pgq_event_error_pkey", snapshot, error_id))
		result.handler = HandlerNamed(handlers, TextDatumGetCString(pg::Get(errors.row, kHandler, &isnull)));
	if (result.handler != nullptr) {
		Datum event = pg::Get(errors.row, kEvent, &isnull);
		result.committed_at = DatumGetTimestampTz(pg::Get(errors.row, kCommittedAt, &isnull));
		result.error = Guarded(timeout_ms, [&]() { result.verdict = EvaluateEvent(schema, result.handler, event); });
		// Never waits: who deletes an event error meanwhile has decided what becomes of it.
		if (result.error == nullptr) {
			(void)pg::Delete(errors, &errors.row->tts_tid, snapshot, pg::Wait::No);
		} else {
			pg::StartChange(errors);
			SetError(errors, result.handler, result.error);
			(void)pg::UpdateNoWait(errors, &errors.row->tts_tid, snapshot);
		}
	}
	UnregisterSnapshot(snapshot);
	pg::Close(&errors);
	return result;
}

} // namespace pgq_ext::queue
