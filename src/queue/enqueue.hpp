// Jobs that have no event: what pgq_enqueue does in the caller's transaction.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

// What pgq_enqueue asks for. Texts are not toasted.
struct EnqueueRequest {
	Datum handler;
	Datum args;
	NullableDatum serialization_key;
	Datum queue;
	int32 priority;
	NullableDatum run_at;
	NullableDatum idempotency_key;
};

// Writes the request down; the enqueuer turns it into a job once it is committed. Returns the id that the job will have; or,
// where the idempotency key is known, of the job that has it.
// undefined_object (42704) for an unknown queue. Locks the queue's row FOR KEY SHARE; waits for a transaction in progress
// that has used the same idempotency key.
int64 Enqueue(Oid schema, const EnqueueRequest &request);

} // namespace pgq_ext::queue
