// The enqueuer's use of queues: a queue that it makes jobs for is not dropped before they are committed.
//
// Others hold the queue's row for that (LockQueue); the enqueuer, which uses queues in nearly every transaction, holds a lock
// that is written nowhere, and never waits for it.
#pragma once

#include "decode/event.hpp"

namespace pgq_ext::queue {

// Keeps the handler's queue until the transaction ends. undefined_object (42704) when it has been dropped, object_in_use
// (55006) when a transaction in progress is dropping both.
void UseQueue(Oid schema, const decode::Handler *handler);

// For who has deleted the queue's row: waits for those who use the queue; until the transaction ends there are no others.
void AwaitUsers(Oid queues, const char *queue);

} // namespace pgq_ext::queue
