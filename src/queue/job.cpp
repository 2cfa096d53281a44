// Rows of pgq_job: see job.hpp.
#include "queue/job.hpp"

namespace pgq_ext::queue {

Job
ReadJob(TupleTableSlot *row)
{
	using namespace column;
	Job job;

	slot_getallattrs(row);
	const Datum *values = row->tts_values - 1; // by attribute number
	const bool *nulls = row->tts_isnull - 1;

	job.tid = row->tts_tid;
	job.job_id = DatumGetInt64(values[kJobId]);
	job.position = nulls[kPosition] ? 0 : DatumGetInt64(values[kPosition]);
	job.priority = DatumGetInt32(values[kPriority]);
	job.visible_at = DatumGetTimestampTz(values[kVisibleAt]);
	job.leased = !nulls[kLeaseUntil];
	job.lease_until = job.leased ? DatumGetTimestampTz(values[kLeaseUntil]) : 0;
	job.attempt = DatumGetInt32(values[kAttempt]);
	job.failures = DatumGetInt32(values[kFailures]);
	job.state = static_cast<State>(DatumGetChar(values[kState]));
	job.held = DatumGetBool(values[kHeld]);
	job.verified = DatumGetBool(values[kVerified]);
	job.queue = values[kQueue];
	job.key.present = !nulls[kKeyHash];
	job.key.hash = job.key.present ? DatumGetInt64(values[kKeyHash]) : 0;
	job.key.handler = values[kHandler];
	job.key.key = values[kKey];
	return job;
}

} // namespace pgq_ext::queue
