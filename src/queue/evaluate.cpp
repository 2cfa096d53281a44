// Evaluating with or without a net: see evaluate.hpp.
#include "queue/evaluate.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
}

namespace pgq_ext::queue {

Evaluations
StartEvaluations(Oid schema, const decode::Source *source)
{
	Evaluations evaluations;
	int n = Max(1, source->nhandlers);

	evaluations.schema = schema;
	evaluations.generation = RuleGeneration();
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

void
RenewEvaluations(Evaluations *evaluations)
{
	AcceptInvalidationMessages();
	if (evaluations->generation == RuleGeneration())
		return;
	EndEvaluations(evaluations);
	evaluations->generation = RuleGeneration();
}

static void
Begin(Evaluations *evaluations, int i)
{
	evaluations->contexts[i] = AllocSetContextCreate(evaluations->context, "pgq_ext evaluation", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(evaluations->contexts[i]);
	evaluations->of_handler[i] = BeginEvaluation(evaluations->schema, evaluations->source, i);
	MemoryContextSwitchTo(old);
}

Verdict
EvaluateOrRaise(Evaluations *evaluations, int i, TupleTableSlot *row)
{
	if (evaluations->of_handler[i] == nullptr)
		Begin(evaluations, i);
	return Evaluate(evaluations->of_handler[i], row);
}

Subtransaction
BeginSubtransaction()
{
	Subtransaction subtransaction = {CurrentMemoryContext, CurrentResourceOwner};

	BeginInternalSubTransaction(nullptr);
	MemoryContextSwitchTo(subtransaction.context);
	return subtransaction;
}

void
EndSubtransaction(const Subtransaction &subtransaction, bool commit)
{
	if (commit)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(subtransaction.context);
	CurrentResourceOwner = subtransaction.owner;
}

ErrorData *
EvaluateGuarded(Evaluations *evaluations, int i, TupleTableSlot *row, int timeout_ms, Verdict *verdict)
{
	ErrorData *error = Guarded(timeout_ms, [&]() { *verdict = EvaluateOrRaise(evaluations, i, row); });

	// What an error left half-way must not be used again.
	if (error != nullptr)
		Discard(evaluations, i);
	return error;
}

static bool
IsBuiltIn(Oid type)
{
	return getBaseType(type) < FirstNormalObjectId;
}

static Datum
TextOf(Datum value, Oid type)
{
	Oid output;
	bool is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	return CStringGetTextDatum(OidOutputFunctionCall(output, value));
}

// The row as a record of the shape it was written in. A type that is not built in may have somebody's cast to json, which
// must not run with our rights: its values are taken as text.
static Datum
PlainRecord(TupleTableSlot *row)
{
	TupleDesc desc = CreateTupleDescCopy(row->tts_tupleDescriptor);

	slot_getallattrs(row);
	Datum *values = (Datum *)palloc(Max(1, desc->natts) * sizeof(Datum));
	for (int i = 0; i < desc->natts; i++) {
		Form_pg_attribute att = TupleDescAttr(desc, i);

		values[i] = row->tts_values[i];
		if (att->attisdropped || IsBuiltIn(att->atttypid))
			continue;
		if (!row->tts_isnull[i])
			values[i] = TextOf(values[i], att->atttypid);
		TupleDescInitEntry(desc, (AttrNumber)(i + 1), NameStr(att->attname), TEXTOID, -1, 0);
	}
	desc->tdtypeid = RECORDOID;
	desc->tdtypmod = -1;
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, row->tts_isnull));
}

bool
ShowRow(TupleTableSlot *row, Datum *json)
{
	return Guarded(0, [&]() {
			   Datum record = PlainRecord(row);
			   Datum text_json = DirectFunctionCall1(row_to_json, record);
			   *json = DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(text_json)));
		   }) == nullptr;
}

} // namespace pgq_ext::queue
