// The columns of our queue tables, by attribute number, and the states of a job. See sql/schema.
#pragma once

#include "pg/table.hpp"

namespace pgq_ext::queue {

// pgq_job
namespace column {
enum {
	kJobId = 1,
	kPosition,
	kVisibleAt,
	kCreatedAt,
	kPriority,
	kAttempt,
	kFailures,
	kState,
	kHeld,
	kVerified,
	kKeyHash,
	kQueue,
	kHandler,
	kKey,
	kLeaseUntil,
	kWorker,
	kLastError,
	kArgs,
};
} // namespace column

// pgq_archive
namespace archive_column {
enum {
	kJobId = 1,
	kPosition,
	kVisibleAt,
	kCreatedAt,
	kFinishedAt,
	kPriority,
	kAttempt,
	kFailures,
	kStatus,
	kQueue,
	kHandler,
	kKey,
	kWorker,
	kLastError,
	kArgs,
	kResult,
};
} // namespace archive_column

// pgq_request
namespace request_column {
enum {
	kRequestId = 1,
	kJobId,
	kRunAt,
	kCreatedAt,
	kPriority,
	kKind,
	kQueue,
	kHandler,
	kKey,
	kArgs,
};
} // namespace request_column

// pgq_event_error
namespace error_column {
enum {
	kErrorId = 1,
	kHandler,
	kHandlerId,
	kSource,
	kEvent,
	kSqlstate,
	kError,
	kOccurredAt,
	kLsn,
	kCommittedAt,
};
} // namespace error_column

// pgq_queue
namespace queue_column {
enum {
	kQueue = 1,
	kMaxAttempts,
	kLease,
	kBackoff,
	kMaxBackoff,
	kCreatedAt,
};
} // namespace queue_column

enum class State : char {
	Scheduled = 's', // not due yet, and without a place in its key
	Parked = 'p',    // waits for its place in its key until a large transaction is converted
	Ready = 'r',     // head of its key, can be claimed, or is leased
	Waiting = 'w',   // behind another live job of its key
	Delayed = 'd',   // head of its key, between attempts
};

enum class Status : char { Completed = 'c', Failed = 'f', Cancelled = 'x', Held = 'h' };

enum class RequestKind : char { Enqueue = 'e', Retry = 'r', Cancel = 'c', RetryEvent = 'v' };

template <typename Letter>
inline Datum
LetterDatum(Letter letter)
{
	return CharGetDatum(static_cast<char>(letter));
}

// A serialization key: equal when handler and key are, byte by byte. The hash only finds
// candidates.
struct Key {
	bool present;  // false: the job waits for nobody, and hash and key are undefined
	int64 hash;    // HashKey of the two
	Datum handler; // text, possibly toasted
	Datum key;     // text, possibly toasted
};

// What is decided by in a row of pgq_job. Datums borrow from the slot it was read from.
struct Job {
	ItemPointerData tid;
	int64 job_id;
	int64 position; // 0 while scheduled
	int32 priority;
	TimestampTz visible_at;
	TimestampTz lease_until;
	bool leased; // in a worker's hands until then
	int32 attempt;
	int32 failures;
	State state;
	bool held;
	bool verified;
	Datum queue; // text
	Key key;
};

Job ReadJob(TupleTableSlot *row);

// Makes the first scan key of pgq_job_ready: jobs of this queue, and of those that have the same hash.
void QueueIs(ScanKey scan_key, Datum queue);

// Whether the job is of this queue.
bool IsOfQueue(const Job &job, Datum queue);

// Whether the job is the head of its key: its leaving lets the next job of the key go.
inline bool
IsHead(const Job &job)
{
	return job.state != State::Waiting && job.state != State::Scheduled && job.state != State::Parked;
}

// Whether (job.job_id, attempt) is the hand-out that counts.
inline bool
IsCurrent(const Job &job, int32 attempt)
{
	return job.held && job.attempt == attempt;
}

} // namespace pgq_ext::queue
