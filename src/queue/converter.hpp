// From events to jobs: what one batch of the stream adds to the job table.
#pragma once

#include "decode/event.hpp"
#include "queue/made.hpp"
#include "queue/parking.hpp"

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

// How a batch is to be converted.
struct Terms {
	List *handlers;         // that apply at its end
	const Parking *parking; // whose jobs are to be parked; nullptr: nobody's
	Made *made;             // what is there already, and is not added again; nullptr: nothing
	Care care;
	int timeout_ms; // for one evaluation, or with Care::None for all of the batch; 0: no limit
};

// Adds the batch's jobs, event errors and changes of handlers, in stream order, within the current transaction.
// next_position is the position for the next job, and is advanced. Never waits for another transaction's lock of a row, but
// for one that somebody has taken by hand, of a request.
Tally Convert(Oid schema, decode::Batch *batch, const Terms &terms, int64 *next_position);

} // namespace pgq_ext::queue
