// Making, changing and dropping queues: what pgq_create_queue and its like do in the caller's transaction.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

enum QueueSetting { kSetMaxAttempts, kSetLease, kSetBackoff, kSetMaxBackoff, kQueueSettings };

constexpr const char *kQueueSettingNames[kQueueSettings] = {"max_attempts", "lease", "backoff", "max_backoff"};

// A queue as the caller described it. A NULL setting: leave it as it is.
struct QueueDefinition {
	Datum queue; // text, not toasted
	NullableDatum settings[kQueueSettings];
};

// invalid_parameter_value (22023) unless the settings that are given are positive, and intervals up to 100 years.
void CheckSettings(const QueueDefinition &definition);

// duplicate_object (42710). Waits for another transaction that is creating or dropping a queue of this name.
void CreateQueue(Oid schema, const QueueDefinition &definition);

// undefined_object (42704). Locks the queue's row against others that alter or drop it.
void AlterQueue(Oid schema, const QueueDefinition &change);

// undefined_object (42704); dependent_objects_still_exist (2BP01) when it has handlers, live jobs or requests for jobs.
// Waits for transactions that have enqueued into the queue or made a handler for it, and for the enqueuer's that uses it.
void DropQueue(Oid schema, Datum queue);

} // namespace pgq_ext::queue
