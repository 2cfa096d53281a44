// Moving jobs to the archive: see archive.hpp.
#include "queue/archive.hpp"

#include "pg/fault.hpp"
#include "queue/ready_notes.hpp"

namespace pgq_ext::queue {

JobTables
OpenJobTables(Oid schema)
{
	return JobTables{pg::Open(schema, "pgq_job"), pg::Open(schema, "pgq_archive"), nullptr};
}

void
CloseJobTables(JobTables *tables)
{
	pg::Close(&tables->jobs);
	pg::Close(&tables->archive);
}

static void
CopyColumn(const pg::Table &archive, int to, TupleTableSlot *row, int from)
{
	archive.changed->tts_values[to - 1] = row->tts_values[from - 1];
	archive.changed->tts_isnull[to - 1] = row->tts_isnull[from - 1];
}

// Makes the archive's row of a job. A value that lies in the job table's TOAST table is copied by
// the insert.
static void
StartArchived(const pg::Table &archive, TupleTableSlot *row, const Ending &ending)
{
	using namespace archive_column;

	pg::StartRow(archive);
	CopyColumn(archive, kJobId, row, column::kJobId);
	CopyColumn(archive, kPosition, row, column::kPosition);
	CopyColumn(archive, kVisibleAt, row,
			   row->tts_isnull[column::kLeaseUntil - 1] ? column::kVisibleAt : column::kLeaseUntil);
	CopyColumn(archive, kCreatedAt, row, column::kCreatedAt);
	CopyColumn(archive, kPriority, row, column::kPriority);
	CopyColumn(archive, kAttempt, row, column::kAttempt);
	CopyColumn(archive, kQueue, row, column::kQueue);
	CopyColumn(archive, kHandler, row, column::kHandler);
	CopyColumn(archive, kKey, row, column::kKey);
	CopyColumn(archive, kWorker, row, column::kWorker);
	CopyColumn(archive, kLastError, row, column::kLastError);
	CopyColumn(archive, kArgs, row, column::kArgs);
	pg::Set(archive, kFinishedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
	pg::Set(archive, kFailures, Int32GetDatum(ending.failures));
	pg::Set(archive, kStatus, LetterDatum(ending.status));
	if (!ending.last_error.isnull)
		pg::Set(archive, kLastError, ending.last_error.value);
	if (!ending.result.isnull)
		pg::Set(archive, kResult, ending.result.value);
}

static void
Archive(const JobTables &tables, const Ending &ending)
{
	StartArchived(tables.archive, tables.jobs.row, ending);
	if (tables.finished != nullptr)
		pg::AddRow(tables.archive, tables.finished);
	else
		pg::Insert(tables.archive);
}

pg::Outcome
MoveToArchive(const JobTables &tables, Snapshot snapshot, const Job &job, const Ending &ending)
{
	ItemPointerData tid = job.tid;
	pg::Outcome outcome = pg::Delete(tables.jobs, &tid, snapshot, pg::Wait::Yes);

	if (outcome == pg::Outcome::Done) {
		NoteTaken(RelationGetRelid(tables.jobs.relation), job);
		Archive(tables, ending);
	}
	return outcome;
}

static Departed
DepartedOf(const Job &job)
{
	return job.verified ? Departed::Verified : Departed::Unverified;
}

static pg::Outcome
LeaveAndPromote(const JobTables &tables, Snapshot snapshot, const Job &job, const Ending &ending, pg::Wait wait)
{
	Key key = CopyKey(job.key);
	pg::Outcome outcome = MoveToArchive(tables, snapshot, job, ending);

	pg::FaultPoint("before_promote");
	if (outcome == pg::Outcome::Done && IsHead(job))
		PromoteNext(tables.jobs, key, job.position, DepartedOf(job), wait);
	pg::FaultPoint("after_promote");
	return outcome;
}

pg::Outcome
Leave(const JobTables &tables, Snapshot snapshot, const Job &job, const Ending &ending)
{
	return LeaveAndPromote(tables, snapshot, job, ending, pg::Wait::Yes);
}

// Locks the next job of the key if it will have to be promoted, without waiting. Looks for it in a
// snapshot taken while the head is locked: what is appended later can't count on the head, so it
// doesn't wait.
static pg::Outcome
HoldNext(const pg::Table &jobs, const Key &key, int64 position, Departed departed)
{
	if (!key.present)
		return pg::Outcome::Done;

	Snapshot snapshot = pg::FreshSnapshot();
	pg::Outcome outcome = pg::Outcome::Done;
	if (FindNext(jobs, snapshot, key, position)) {
		Job next = ReadJob(jobs.row);
		if (NeedsPromotion(next, departed))
			outcome = pg::Lock(jobs, &next.tid, snapshot, LockTupleNoKeyExclusive, pg::Wait::No, pg::Version::This);
	}
	UnregisterSnapshot(snapshot);
	return outcome;
}

pg::Outcome
LeaveNoWait(const JobTables &tables, Snapshot snapshot, ItemPointerData tid, const Ending &ending)
{
	const pg::Table &jobs = tables.jobs;
	auto hold = [&] { return pg::Lock(jobs, &tid, snapshot, LockTupleExclusive, pg::Wait::No, pg::Version::This); };

	pg::Outcome outcome = hold();
	if (outcome != pg::Outcome::Done)
		return outcome;
	Job job = ReadJob(jobs.row);
	if (IsHead(job)) {
		Key key = CopyKey(job.key);
		outcome = HoldNext(jobs, key, job.position, DepartedOf(job));
		if (outcome != pg::Outcome::Done)
			return pg::Outcome::Busy;
		outcome = hold(); // for the row: the lock is ours already
		if (outcome != pg::Outcome::Done)
			return outcome;
		job = ReadJob(jobs.row);
	}
	return LeaveAndPromote(tables, snapshot, job, ending, pg::Wait::No);
}

bool
FindArchived(const pg::Table &archive, Snapshot snapshot, int64 job_id, Status *status)
{
	if (!pg::FindByInt64(archive, "pgq_archive_job_id", snapshot, job_id))
		return false;

	bool isnull;
	*status = static_cast<Status>(DatumGetChar(pg::Get(archive.row, archive_column::kStatus, &isnull)));
	return true;
}

} // namespace pgq_ext::queue
