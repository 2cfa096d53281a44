// Hand-outs: see handout.hpp.
#include "queue/handout.hpp"

namespace pgq_ext::queue {

constexpr int kNotCurrent = MAKE_SQLSTATE('P', 'Q', '0', '0', '1');

void
RaiseNotCurrent(const HandOut &hand_out)
{
	ereport(ERROR, (errcode(kNotCurrent),
					errmsg("attempt %d of job %lld is not the current hand-out", hand_out.attempt,
						   static_cast<long long>(hand_out.job_id)),
					errdetail("The job was handed out again, given back, failed, cancelled, "
							  "completed, or never existed.")));
	pg_unreachable();
}

bool
ReadCurrent(const pg::Table &jobs, Snapshot snapshot, const HandOut &hand_out, Job *job)
{
	*job = ReadJob(jobs.row);
	if (!IsCurrent(*job, hand_out.attempt))
		return false;
	RequireWork(hand_out.limits, snapshot, job->queue);
	return true;
}

bool
FindCurrent(const pg::Table &jobs, Snapshot snapshot, const HandOut &hand_out, Job *job)
{
	return pg::FindByInt64(jobs, "pgq_job_pkey", snapshot, hand_out.job_id) &&
		   ReadCurrent(jobs, snapshot, hand_out, job);
}

} // namespace pgq_ext::queue
