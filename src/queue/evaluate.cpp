// Evaluating with or without a net: see evaluate.hpp.
#include "queue/evaluate.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/fmgrprotos.h"
#include "utils/resowner.h"
#include "utils/timeout.h"
}

namespace pgq_ext::queue {

void
StartClock(int timeout_ms)
{
	if (timeout_ms > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, timeout_ms);
}

// The clock may have struck between the end of the work and its being stopped: then it must not cancel what comes next.
void
StopClock()
{
	if (get_timeout_active(STATEMENT_TIMEOUT))
		disable_timeout(STATEMENT_TIMEOUT, false);
	else if (get_timeout_indicator(STATEMENT_TIMEOUT, true))
		QueryCancelPending = false;
}

Evaluations
StartEvaluations(Oid schema, const decode::Source *source)
{
	Evaluations evaluations;
	int n = Max(1, source->nhandlers);

	evaluations.schema = schema;
	evaluations.source = source;
	evaluations.context = CurrentMemoryContext;
	evaluations.contexts = (MemoryContext *)palloc0(n * sizeof(MemoryContext));
	evaluations.of_handler = (Evaluation **)palloc0(n * sizeof(Evaluation *));
	return evaluations;
}

static void
Discard(Evaluations *evaluations, int i)
{
	if (evaluations->contexts[i] != nullptr)
		MemoryContextDelete(evaluations->contexts[i]);
	evaluations->contexts[i] = nullptr;
	evaluations->of_handler[i] = nullptr;
}

void
EndEvaluations(Evaluations *evaluations)
{
	for (int i = 0; i < evaluations->source->nhandlers; i++)
		Discard(evaluations, i);
}

static void
Begin(Evaluations *evaluations, int i)
{
	evaluations->contexts[i] = AllocSetContextCreate(evaluations->context, "pgq_ext evaluation",
													 ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(evaluations->contexts[i]);
	evaluations->of_handler[i] =
		BeginEvaluation(evaluations->schema, evaluations->source->handlers[i], evaluations->source);
	MemoryContextSwitchTo(old);
}

Verdict
EvaluateOrRaise(Evaluations *evaluations, int i, TupleTableSlot *row)
{
	if (evaluations->of_handler[i] == nullptr)
		Begin(evaluations, i);
	return Evaluate(evaluations->of_handler[i], row);
}

// Runs body in a subtransaction and returns its error, or nullptr.
template <typename Body>
static ErrorData *
InSubtransaction(const Body &body)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(nullptr);
	MemoryContextSwitchTo(context);
	ErrorData *error = pg::Try(body);
	if (error == nullptr)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

ErrorData *
EvaluateGuarded(Evaluations *evaluations, int i, TupleTableSlot *row, int timeout_ms, Verdict *verdict)
{
	StartClock(timeout_ms);
	ErrorData *error =
		InSubtransaction([&]() { *verdict = EvaluateOrRaise(evaluations, i, row); });
	StopClock();
	// What an error left half-way must not be used again.
	if (error != nullptr)
		Discard(evaluations, i);
	return error;
}

bool
ShowRow(TupleTableSlot *row, Datum *json)
{
	return InSubtransaction([&]() {
			   Datum record = ExecFetchSlotHeapTupleDatum(row);
			   Datum text_json = DirectFunctionCall1(row_to_json, record);
			   *json = DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(text_json)));
		   }) == nullptr;
}

} // namespace pgq_ext::queue
