// Which queues a caller may work.
//
// The first fence is EXECUTE on the functions. Who holds it by a role that is not limited may work all queues, and nothing
// more is asked; so it is with whatever is granted by hand. Who holds it by limited roles alone may work the queues that
// pgq_queue_worker names for a role whose rights he has. See sql/schema/15_queue_worker.sql.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

// The caller of one of the functions for workers, when he is limited.
struct Limits {
	Oid schema;
	Oid role;
};

// The limits of the current role as a caller of function, which is in schema; nullptr: it has none.
const Limits *LimitsOf(Oid function, Oid schema);

// insufficient_privilege (42501) unless the limits, if any, admit the queue (a text) as the snapshot shows them.
void RequireWork(const Limits *limits, Snapshot snapshot, Datum queue);

// Whether the role itself has been granted EXECUTE on the function.
bool CallsDirectly(Oid function, Oid role);

// Whether the role itself is limited.
bool IsLimited(Oid schema, Oid role);

// The domain on which USAGE marks a limited role.
Oid MarkOfLimited(Oid schema);

// Rows of pgq_queue_worker. Adding one that is there does nothing.
void AddQueueOf(Oid schema, Oid role, Datum queue);
bool HasQueues(Oid schema, Oid role);

// Removes the rows of this role and queue; InvalidOid: of every role; a NULL queue: of every queue.
void RemoveQueuesOf(Oid schema, Oid role, NullableDatum queue);

} // namespace pgq_ext::queue
