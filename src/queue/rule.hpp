// A handler's expressions, compiled, and their evaluation over one row.
//
// The expressions are the target list of the handler's view: matches, serialization_key, priority, args. They are read
// from the rule system without a lock on the view or the source: nobody's DDL can hold up the stream. They run with the
// rights of the view's owner, as a security-restricted operation, read-only, with a pinned search_path and pinned
// rendering settings; whatever they raise is the event's error and is for the caller to catch.
#pragma once

#include "decode/event.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace pgq_ext::queue {

// The columns of a handler's view, in order.
enum RuleColumn { kMatches, kSerializationKey, kPriority, kArgs, kRuleColumns };

constexpr const char *kRuleColumnNames[kRuleColumns] = {"matches", "serialization_key", "priority", "args"};

// What a handler makes of a row. The values live in the evaluation's row memory, until the next row.
struct Verdict {
	bool matches;
	text *serialization_key; // nullptr: none
	int32 priority;
	Datum args;
	bool args_null;
};

struct Evaluation;

// Prepares to evaluate the source's handler number i over its rows, in the current memory context and transaction.
// May raise whatever the expressions raise when they are compiled or their functions looked up; undefined_object (42704)
// when the handler has lost its view with its source.
Evaluation *BeginEvaluation(Oid schema, const decode::Source *source, int i);

// Evaluates the expressions over the row (in the shape of the source). null_value_not_allowed (22004) for a NULL priority.
Verdict Evaluate(Evaluation *evaluation, TupleTableSlot *row);

// Changes with everything that compiled expressions may depend on: an Evaluation must not be used in another generation than
// that in which it was begun.
uint64 RuleGeneration();

// Forgets what is compiled for a handler that is no longer used.
void ForgetRule(decode::Handler *handler);

// Registers the cache callbacks that make compiled expressions follow renames and replaced functions; once a process.
void WatchRules();

} // namespace pgq_ext::queue
