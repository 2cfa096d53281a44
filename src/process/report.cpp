// What there is to say about the current database's enqueuer: see report.hpp.
#include "process/report.hpp"

#include "process/cluster.hpp"

namespace pgq_ext::process {

static const char *
StateName(State state)
{
	switch (state) {
	case State::Starting:
		return "starting";
	case State::CreatingSlot:
		return "creating slot";
	case State::Streaming:
		return "streaming";
	case State::Failed:
		return "failed";
	case State::Held:
		return "held";
	}
	return "unknown";
}

// The reason why there can't be an enqueuer; nullptr when there can.
static const char *
Obstacle()
{
	if (!Preloaded())
		return "not in shared_preload_libraries";
	if (RecoveryInProgress())
		return "standby";
	if (wal_level < WAL_LEVEL_LOGICAL)
		return "wal_level is not logical";
	return nullptr;
}

static void
CopyEntry(Report *report, Database *db)
{
	report->state = StateName(db->state);
	report->pid = db->pid;
	report->streams = db->pid != 0 && db->state == State::Streaming;
	strlcpy(report->slot_name, db->slot_name, sizeof report->slot_name);
	strlcpy(report->last_error, db->last_error, sizeof report->last_error);
	report->last_error_at = db->last_error_at;
	report->last_lsn = pg_atomic_read_u64(&db->last_lsn);
	report->last_converted_at = (TimestampTz)pg_atomic_read_u64(&db->last_converted_at);
	report->events = pg_atomic_read_u64(&db->events);
	report->jobs = pg_atomic_read_u64(&db->jobs);
	report->errors = pg_atomic_read_u64(&db->errors);
	for (int i = 0; i < kLatencyBuckets; i++)
		report->latency[i] = pg_atomic_read_u64(&db->latency[i]);
}

void
MakeReport(Report *report)
{
	memset(report, 0, sizeof *report);
	report->state = Obstacle();
	if (report->state != nullptr)
		return;

	LWLockAcquire(cluster->lock, LW_SHARED);
	Database *db = FindEntry(MyDatabaseId);
	if (db != nullptr)
		CopyEntry(report, db);
	else if (cluster->no_worker_slot) {
		report->state = "failed";
		strlcpy(report->last_error, kNoWorkerSlot, sizeof report->last_error);
	} else
		report->state = "not running";
	LWLockRelease(cluster->lock);
}

} // namespace pgq_ext::process
