// Parked jobs: see parking.hpp.
#include "queue/parking.hpp"

#include "pg/hash.hpp"
#include "queue/append.hpp"

namespace pgq_ext::queue {

// By their hashes: two keys that share one are parked together, which harms neither.
HTAB *
NewKeys()
{
	return pg::NewHash<int64, int64>(CurrentMemoryContext, "pgq_ext parked keys", 64);
}

static bool
Has(HTAB *keys, const Key &key)
{
	return hash_search(keys, &key.hash, HASH_FIND, nullptr) != nullptr;
}

bool
MustPark(const Parking *parking, const Key &key)
{
	ListCell *lc;

	if (parking == nullptr || !key.present)
		return false;
	if (parking->all || (parking->keys != nullptr && Has(parking->keys, key)))
		return true;
	if (parking->handlers == NIL)
		return false;
	const char *handler = TextDatumGetCString(key.handler);
	foreach (lc, parking->handlers)
		if (strcmp((const char *)lfirst(lc), handler) == 0)
			return true;
	return false;
}

int
PlaceParked(Oid schema, int64 end, int64 until, int limit, HTAB *left)
{
	int placed = 0;
	Appender *appender = OpenAppender(schema, nullptr);
	pg::Table jobs = pg::Open(schema, "pgq_job");
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_parked", snapshot, nullptr, 0);

	while (placed < limit && scan.Next()) {
		CHECK_FOR_INTERRUPTS();
		Job job = ReadJob(jobs.row);
		if (job.position >= until)
			break;
		if (job.position < end && !Has(left, job.key) && PlaceJob(appender, jobs, job.position))
			placed++;
		else
			hash_search(left, &job.key.hash, HASH_ENTER, nullptr);
	}
	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&jobs);
	CloseAppender(appender);
	return placed;
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
