// Events that a handler could not turn into jobs: kept, shown, tried again.
#pragma once

#include "queue/evaluate.hpp"
#include "queue/made.hpp"

namespace pgq_ext::queue {

// Adds a row to pgq_event_error: what the handler's evaluation of the row raised. Not when it is among what
// was made (nullptr: nothing).
void RecordEventError(Oid schema, const decode::Handler *handler, const decode::Run *run, TupleTableSlot *row,
					  const ErrorData *error, Made *made);

// True: the enqueuer will evaluate the event again, by the handler as it is then. False: there is no such event error, or
// its event could not be kept.
bool RequestEventRetry(Oid schema, int64 error_id);

// What became of evaluating an event error's event again.
struct Reconsidered {
	decode::Handler *handler; // nullptr: the event error is gone, or nobody has its handler's name: nothing is done
	ErrorData *error;         // nullptr: verdict holds, and the event error is no more; else it has this error now
	Verdict verdict;
	TimestampTz committed_at; // the event
};

// Evaluates the event again, by the handler of that name among handlers, in a subtransaction that is given timeout_ms.
// The values of the verdict live in the current memory context. Done by the enqueuer.
Reconsidered ReconsiderEvent(Oid schema, List *handlers, int64 error_id, int timeout_ms);

} // namespace pgq_ext::queue
