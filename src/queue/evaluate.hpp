// Evaluating handlers over events, with or without a net.
#pragma once

#include "pg/try.hpp"
#include "queue/clock.hpp"
#include "queue/rule.hpp"

extern "C" {
#include "utils/resowner.h"
}

namespace pgq_ext::queue {

// The evaluations of a source's events: one per handler, made when first needed, each in a context of its own under the
// one current at StartEvaluations.
struct Evaluations {
	Oid schema;
	uint64 generation; // of rules, in which they were made
	const decode::Source *source;
	MemoryContext context;
	MemoryContext *contexts;
	Evaluation **of_handler;
};

Evaluations StartEvaluations(Oid schema, const decode::Source *source);
void EndEvaluations(Evaluations *evaluations);

// To be called before they are used for another run: those that were made in another generation, or before somebody changed
// what they depend on, rights included, are made anew.
void RenewEvaluations(Evaluations *evaluations);

// Evaluates the source's handler number i over the row; raises what the expressions raise.
Verdict EvaluateOrRaise(Evaluations *evaluations, int i, TupleTableSlot *row);

// The same in a subtransaction that is given timeout_ms: returns the error, in the current memory context, or nullptr.
ErrorData *EvaluateGuarded(Evaluations *evaluations, int i, TupleTableSlot *row, int timeout_ms, Verdict *verdict);

// Runs body in a subtransaction that is given timeout_ms; returns its error, in the current memory context, or nullptr.
template <typename Body> ErrorData *Guarded(int timeout_ms, const Body &body);

// The row as jsonb as far as it can be shown; false when it can't be.
bool ShowRow(TupleTableSlot *row, Datum *json);

// The parts of Guarded: a subtransaction that leaves memory context and resource owner as they were.
struct Subtransaction {
	MemoryContext context;
	ResourceOwner owner;
};
Subtransaction BeginSubtransaction();
void EndSubtransaction(const Subtransaction &subtransaction, bool commit);

template <typename Body>
ErrorData *
Guarded(int timeout_ms, const Body &body)
{
	TimestampTz before = StartClock(timeout_ms);
	Subtransaction subtransaction = BeginSubtransaction();
	ErrorData *error = pg::Try(body);
	StopClock(before);
	EndSubtransaction(subtransaction, error == nullptr);
	return error;
}

} // namespace pgq_ext::queue
