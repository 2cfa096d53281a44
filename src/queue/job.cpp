// Rows of pgq_job: see job.hpp.
#include "queue/job.hpp"

extern "C" {
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
}

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

// What hashtext() gives for a text in the collation "C".
void
QueueIs(ScanKey scan_key, Datum queue)
{
	text *name = DatumGetTextPP(queue);
	uint32 hash =
		hash_bytes(reinterpret_cast<unsigned char *>(VARDATA_ANY(name)), static_cast<int>(VARSIZE_ANY_EXHDR(name)));

	ScanKeyInit(scan_key, 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(static_cast<int32>(hash)));
}

bool
IsOfQueue(const Job &job, Datum queue)
{
	return datum_image_eq(job.queue, queue, false, -1);
}

} // namespace pgq_ext::queue
