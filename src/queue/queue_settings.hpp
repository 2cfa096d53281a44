// What a queue's row says about its jobs, and times computed from it.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

struct QueueSettings {
	int32 max_attempts;
	Interval lease;
	Interval backoff;
	Interval max_backoff;
};

// The settings of the queue (name is text) as the snapshot shows them; undefined_object (42704)
// when there is none.
QueueSettings RequireQueue(Oid schema, Snapshot snapshot, Datum name);

// The same for a live job's queue. Where that has been dropped: the defaults of pgq_create_queue.
QueueSettings SettingsOfJob(Oid schema, Snapshot snapshot, Datum name);

// The names of all queues, as text *, in the current memory context.
List *AllQueues(Oid schema, Snapshot snapshot);

// time + span, by the calendar as in SQL.
TimestampTz Later(TimestampTz time, const Interval &span);

// The span in microseconds, a month being 30 days and a day 24 hours; INT64_MAX when it is longer
// than that.
int64 Microseconds(const Interval &span);

} // namespace pgq_ext::queue
