// From events to jobs: what one batch of the stream adds to the job table.
#pragma once

#include "decode/event.hpp"

namespace pgq_ext::queue {

// What a batch came to.
struct Tally {
	int64 events;
	int64 jobs;
	int64 errors;
	bool postponed; // a request is still to be done: see DoPostponed
};

// How much an expression's error may take with it.
enum class Care {
	None, // the error is raised and the caller aborts everything: fast, and right as long as nothing fails
	Full, // each evaluation is a subtransaction; an error becomes an event error and the rest goes on
};

// Adds the batch's jobs, event errors and changes of handlers, in stream order, within the current transaction.
// handlers are those that apply at its end. next_position is the position for the next job, and is advanced. Evaluating one expression may take timeout_ms;
// 0 for no limit. With Care::None the limit is for the batch as a whole.
// Never waits for another transaction's lock.
Tally Convert(Oid schema, decode::Batch *batch, List *handlers, int64 *next_position, Care care,
			  int timeout_ms);

} // namespace pgq_ext::queue
