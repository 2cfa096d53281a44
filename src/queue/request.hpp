// What callers asked for by a row in pgq_request, done by the enqueuer in commit order.
#pragma once

#include "queue/append.hpp"

namespace pgq_ext::queue {

enum class RequestResult {
	Added,     // it has become a job
	Done,      // there was nothing to add, or it was done before
	Event,     // an event error is to be tried again: *event_error
	Postponed, // a cancellation of a job that somebody holds: it is marked in its row, for DoPostponed
};

// Deletes the request whose row the WAL has brought, and does it: adds the job of pgq_enqueue, puts a dead letter back,
// or cancels a job. A request that is no longer there was done before.
RequestResult DoRequest(Appender *appender, Oid schema, TupleTableSlot *row, int64 *next_position, int64 *event_error);

// Tries the postponed requests again; returns how many are left.
int DoPostponed(Appender *appender, Oid schema);

} // namespace pgq_ext::queue
