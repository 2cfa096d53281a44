// Handing jobs to workers. What claims read and write is known here only: everybody else asks for a
// batch.
#pragma once

#include "pg/table.hpp"
#include "queue/worker_rights.hpp"

namespace pgq_ext::queue {

struct ClaimRequest {
	Oid schema;
	Datum queue; // text
	int32 batch_size;
	const Interval *lease; // nullptr: the queue's
	NullableDatum worker;  // text
	const Limits *limits;  // of who calls; nullptr: none
};

// Claims up to batch_size jobs of the queue, the most urgent first, then the oldest, for as long as the lease says, and adds
// a row (job_id, attempt, handler, serialization_key, priority, args, lease_until, created_at) for each to out. jobs is the
// open table of live jobs. Never waits for a lock of a row: what another transaction holds is passed over. undefined_object
// (42704) when the queue doesn't exist, insufficient_privilege (42501) when it isn't one that the caller may work.
void Claim(const ClaimRequest &request, const pg::Table &jobs, Tuplestorestate *out, TupleDesc shape);

} // namespace pgq_ext::queue
