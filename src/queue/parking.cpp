// Parked jobs: see parking.hpp.
#include "queue/parking.hpp"

#include "queue/append.hpp"

namespace pgq_ext::queue {

bool
MustPark(const Parking *parking, const Key &key)
{
	ListCell *lc;

	if (parking == nullptr || !key.present)
		return false;
	if (parking->all || parking->handlers == NIL)
		return parking->all;
	const char *handler = TextDatumGetCString(key.handler);
	foreach (lc, parking->handlers)
		if (strcmp((const char *)lfirst(lc), handler) == 0)
			return true;
	return false;
}

// The keys of parked jobs that had to be left: what is behind them must be left, too.
struct LeftKeys {
	int64 *hashes;
	int n, max;
};

static bool
IsLeft(const LeftKeys &left, const Key &key)
{
	for (int i = 0; i < left.n; i++)
		if (left.hashes[i] == key.hash)
			return true;
	return false;
}

static void
LeaveKey(LeftKeys *left, const Key &key)
{
	if (left->n == left->max) {
		left->max = Max(16, left->max * 2);
		Size size = left->max * sizeof(int64);
		left->hashes = static_cast<int64 *>(left->hashes == nullptr ? palloc(size) : repalloc(left->hashes, size));
	}
	left->hashes[left->n++] = key.hash;
}

Placing
PlaceParked(Oid schema, int64 end, int limit)
{
	Placing placing = {0, false};
	LeftKeys left = {};
	Appender *appender = OpenAppender(schema, nullptr);
	pg::Table jobs = pg::Open(schema, "pgq_job");
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_parked", snapshot, nullptr, 0);

	while (placing.placed < limit && scan.Next()) {
		CHECK_FOR_INTERRUPTS();
		Job job = ReadJob(jobs.row);
		if (job.position >= end)
			break;
		if (IsLeft(left, job.key))
			continue;
		if (PlaceJob(appender, jobs, job.position)) {
			placing.placed++;
		} else {
			placing.busy = true;
			LeaveKey(&left, job.key);
		}
	}
	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&jobs);
	CloseAppender(appender);
	return placing;
}

bool
HasParked(Oid schema)
{
	pg::Table jobs = pg::Open(schema, "pgq_job");
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_parked", snapshot, nullptr, 0);
	bool found = scan.Next();

	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&jobs);
	return found;
}

} // namespace pgq_ext::queue
