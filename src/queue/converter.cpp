// From events to jobs: see converter.hpp.
#include "queue/converter.hpp"

#include "pg/table.hpp"
#include "queue/append.hpp"
#include "queue/evaluate.hpp"
#include "queue/event_error.hpp"
#include "queue/request.hpp"

extern "C" {
#include "commands/sequence.h"
}

namespace pgq_ext::queue {

// What the runs of a source have in common. Between two runs a rule that one of its evaluations uses may be compiled anew,
// and the old one is gone: but only in another generation.
struct OpenSource {
	const decode::Source *source;
	TupleTableSlot *row;
	Evaluations evaluations;
};

// Beyond so many (partitions, perhaps) all are closed.
constexpr int kOpenSources = 64;

struct Conversion {
	Oid schema;
	decode::Batch *batch;
	const Terms *terms;
	Appender *appender;
	Oid job_ids; // the sequence
	int64 *next_position;
	MemoryContext row_context; // reset with each event
	OpenSource sources[kOpenSources];
	int nsources;
	Tally tally;
};

static bool
WasMade(const Conversion &conversion, const decode::Handler *handler, const Verdict &verdict)
{
	return conversion.terms->made != nullptr && TakeJob(conversion.terms->made, CStringGetTextDatum(handler->name),
														PointerGetDatum(verdict.serialization_key), verdict.priority,
														verdict.args_null ? (Datum)0 : verdict.args);
}

static void
AppendJob(Conversion *conversion, TimestampTz created_at, const decode::Handler *handler, const Verdict &verdict)
{
	NewJob job = {};

	if (WasMade(*conversion, handler, verdict))
		return;
	job.job_id = nextval_internal(conversion->job_ids, false);
	job.position = (*conversion->next_position)++;
	job.created_at = created_at;
	job.priority = verdict.priority;
	job.queue = CStringGetTextDatum(handler->queue);
	job.handler = CStringGetTextDatum(handler->name);
	job.key.isnull = verdict.serialization_key == nullptr;
	job.key.value = PointerGetDatum(verdict.serialization_key);
	job.args.isnull = verdict.args_null;
	job.args.value = verdict.args;
	job.last_error.isnull = true;
	Append(conversion->appender, job);
	conversion->tally.jobs++;
}

static void
ConvertEvent(Conversion *conversion, const decode::Run *run, Evaluations *evaluations, TupleTableSlot *row)
{
	conversion->tally.events++;
	for (int i = 0; i < run->source->nhandlers; i++) {
		decode::Handler *handler = run->source->handlers[i];
		ErrorData *error = nullptr;
		Verdict verdict = {};

		if (conversion->terms->care == Care::None)
			verdict = EvaluateOrRaise(evaluations, i, row);
		else
			error = EvaluateGuarded(evaluations, i, row, conversion->terms->timeout_ms, &verdict);

		if (error != nullptr) {
			RecordEventError(conversion->schema, handler, run, row, error, conversion->terms->made);
			conversion->tally.errors++;
		} else if (verdict.matches) {
			AppendJob(conversion, run->committed_at, handler, verdict);
		}
	}
}

static void
RetryEvent(Conversion *conversion, int64 error_id)
{
	Reconsidered result =
		ReconsiderEvent(conversion->schema, conversion->terms->handlers, error_id, conversion->terms->timeout_ms);

	if (result.handler != nullptr && result.error == nullptr && result.verdict.matches)
		AppendJob(conversion, result.committed_at, result.handler, result.verdict);
}

static void
DoRequestOf(Conversion *conversion, TupleTableSlot *row)
{
	int64 event_error = 0;
	RequestResult result =
		DoRequest(conversion->appender, conversion->schema, row, conversion->next_position, &event_error);

	if (result == RequestResult::Event)
		RetryEvent(conversion, event_error);
	conversion->tally.jobs += result == RequestResult::Added;
	conversion->tally.postponed |= result == RequestResult::Postponed;
}

static void
CloseSources(Conversion *conversion)
{
	for (int i = 0; i < conversion->nsources; i++) {
		EndEvaluations(&conversion->sources[i].evaluations);
		ExecDropSingleTupleTableSlot(conversion->sources[i].row);
	}
	conversion->nsources = 0;
}

static OpenSource *
OpenSourceOf(Conversion *conversion, const decode::Source *source)
{
	for (int i = 0; i < conversion->nsources; i++)
		if (conversion->sources[i].source == source) {
			RenewEvaluations(&conversion->sources[i].evaluations);
			return &conversion->sources[i];
		}
	if (conversion->nsources == kOpenSources)
		CloseSources(conversion);

	OpenSource *open = &conversion->sources[conversion->nsources++];
	open->source = source;
	open->row = MakeSingleTupleTableSlot(source->desc, &TTSOpsMinimalTuple);
	open->evaluations = StartEvaluations(conversion->schema, source);
	return open;
}

static void
ConvertRun(Conversion *conversion, const decode::Run *run)
{
	OpenSource *open = OpenSourceOf(conversion, run->source);

	for (int64 i = 0; i < run->nrows; i++) {
		CHECK_FOR_INTERRUPTS();
		if (!tuplestore_gettupleslot(conversion->batch->rows, true, false, open->row))
			elog(ERROR, "a batch of events ended early");
		MemoryContext old = MemoryContextSwitchTo(conversion->row_context);
		if (run->source->requests)
			DoRequestOf(conversion, open->row);
		else
			ConvertEvent(conversion, run, &open->evaluations, open->row);
		MemoryContextSwitchTo(old);
		MemoryContextReset(conversion->row_context);
	}
}

// Deletes the row with that id, if it is there and nobody is at it.
static void
DeleteById(const pg::Table &table, const char *index, int64 id)
{
	Snapshot snapshot = pg::FreshSnapshot();

	if (pg::FindByInt64(table, index, snapshot, id))
		(void)pg::Delete(table, &table.row->tts_tid, snapshot, pg::Wait::No);
	UnregisterSnapshot(snapshot);
}

// Notes which handlers apply behind this batch, for a process that starts there; removes those that never will again.
static void
RecordHandlerChanges(Conversion *conversion)
{
	pg::Table active = pg::Open(conversion->schema, "pgq_active_handler");
	pg::Table handlers = pg::Open(conversion->schema, "pgq_handler");
	ListCell *lc;

	foreach (lc, conversion->batch->handler_changes) {
		decode::HandlerChange *change = (decode::HandlerChange *)lfirst(lc);

		if (change->retired) {
			CommandCounterIncrement();
			DeleteById(active, "pgq_active_handler_pkey", change->handler->id);
			DeleteById(handlers, "pgq_handler_pkey", change->handler->id);
			ForgetRule(change->handler);
		} else {
			pg::StartRow(active);
			pg::Set(active, 1, Int64GetDatum(change->handler->id));
			pg::Insert(active);
		}
	}
	pg::Close(&handlers);
	pg::Close(&active);
}

Tally
Convert(Oid schema, decode::Batch *batch, const Terms &terms, int64 *next_position)
{
	Conversion conversion = {};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext conversion", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell *lc;

	conversion.schema = schema;
	conversion.batch = batch;
	conversion.terms = &terms;
	conversion.next_position = next_position;
	conversion.job_ids = pg::RelationNamed(schema, "pgq_job_id_seq");
	conversion.row_context = AllocSetContextCreate(context, "pgq_ext event", ALLOCSET_DEFAULT_SIZES);
	conversion.appender = OpenAppender(schema, terms.parking);

	tuplestore_rescan(batch->rows);
	if (terms.care == Care::None)
		StartClock(terms.timeout_ms);
	foreach (lc, batch->runs)
		ConvertRun(&conversion, (decode::Run *)lfirst(lc));
	CloseSources(&conversion);
	if (terms.care == Care::None)
		StopClock();
	CloseAppender(conversion.appender);
	if (batch->handler_changes != NIL)
		RecordHandlerChanges(&conversion);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return conversion.tally;
}

} // namespace pgq_ext::queue
