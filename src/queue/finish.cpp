// Completed and failed: see finish.hpp.
#include "queue/finish.hpp"

#include "pg/lookup.hpp"
#include "queue/backoff.hpp"
#include "queue/due.hpp"
#include "queue/queue_settings.hpp"
#include "queue/ready_notes.hpp"

extern "C" {
#include "common/pg_prng.h"
#include "mb/pg_wchar.h"
}

namespace pgq_ext::queue {

static Ending
CompletedWith(const Job &job, NullableDatum result)
{
	return Ending{Status::Completed, job.failures, kNone, result};
}

// Whether this hand-out is the one that completed the job.
static bool
HasCompleted(const pg::Table &archive, const HandOut &hand_out)
{
	Snapshot snapshot = pg::FreshSnapshot();
	Status status;
	bool isnull;
	bool completed = FindArchived(archive, snapshot, hand_out.job_id, &status) && status == Status::Completed &&
					 DatumGetInt32(pg::Get(archive.row, archive_column::kAttempt, &isnull)) == hand_out.attempt;

	if (completed)
		RequireWork(hand_out.limits, snapshot, pg::Get(archive.row, archive_column::kQueue, &isnull));
	UnregisterSnapshot(snapshot);
	return completed;
}

bool
Complete(Oid schema, const HandOut &hand_out, NullableDatum result)
{
	JobTables tables = OpenJobTables(schema);
	bool current = ChangeCurrent(tables.jobs, hand_out, [&](Snapshot snapshot, const Job &job) {
		return Leave(tables, snapshot, job, CompletedWith(job, result));
	});

	if (!current && !HasCompleted(tables.archive, hand_out))
		RaiseNotCurrent(hand_out);
	CloseJobTables(&tables);
	return current;
}

// A head that is gone, whose key's next job is still to be promoted.
struct Vacancy {
	Key key;
	int64 position;
};

// Archives the hand-out if it is current. snapshot, in which lookup finds, is taken for the whole batch; where the row has
// changed since, newer ones are taken.
static bool
CompleteOne(const JobTables &tables, Snapshot snapshot, pg::Lookup *lookup, const HandOut &hand_out, Vacancy *vacancy)
{
	auto move = [&](Snapshot seen_in, const Job &job) {
		*vacancy = Vacancy{CopyKey(job.key), job.position};
		return MoveToArchive(tables, seen_in, job, CompletedWith(job, kNone));
	};
	Job job;

	if (!lookup->Find(tables.jobs, hand_out.job_id) || !ReadCurrent(tables.jobs, snapshot, hand_out, &job))
		return false;
	return move(snapshot, job) == pg::Outcome::Done || ChangeCurrent(tables.jobs, hand_out, move);
}

static int
CompareHandOuts(const void *a, const void *b)
{
	auto *left = static_cast<const HandOut *>(a);
	auto *right = static_cast<const HandOut *>(b);

	if (left->job_id != right->job_id)
		return left->job_id < right->job_id ? -1 : 1;
	if (left->attempt != right->attempt)
		return left->attempt < right->attempt ? -1 : 1;
	return 0;
}

static void
FillVacancies(const pg::Table &jobs, const Vacancy *vacancies, int n)
{
	Snapshot snapshot = pg::FreshSnapshot();

	for (int i = 0; i < n; i++)
		PromoteNextIn(jobs, snapshot, vacancies[i].key, vacancies[i].position, Departed::Verified);
	UnregisterSnapshot(snapshot);
}

// Archives those that are current, into ids and vacancies; returns how many. They are sorted, and some may be there twice.
static int
Vacate(const JobTables &tables, const HandOut *hand_outs, int n, int64 *ids, Vacancy *vacancies, int *vacant)
{
	Snapshot snapshot = pg::FreshSnapshot();
	pg::Lookup lookup =
		pg::BeginLookup(tables.jobs, "pgq_job_pkey", snapshot, hand_outs[0].job_id, hand_outs[n - 1].job_id, n);
	int completed = 0;

	for (int i = 0; i < n; i++) {
		Vacancy *vacancy = &vacancies[*vacant];

		CHECK_FOR_INTERRUPTS();
		if (completed > 0 && ids[completed - 1] == hand_outs[i].job_id)
			continue;
		if (!CompleteOne(tables, snapshot, &lookup, hand_outs[i], vacancy))
			continue;
		ids[completed++] = hand_outs[i].job_id;
		if (vacancy->key.present)
			(*vacant)++;
	}
	lookup.End();
	UnregisterSnapshot(snapshot);
	return completed;
}

// All batches delete in the order of ids, and only then promote: batches that share jobs don't
// deadlock.
int
CompleteAll(const JobTables &open, HandOut *hand_outs, int n, int64 *ids)
{
	if (n == 0)
		return 0;

	JobTables tables = {open.jobs, open.archive, pg::NewRows(open.archive)};
	auto *vacancies = static_cast<Vacancy *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Vacancy) * n));
	int vacant = 0;

	qsort(hand_outs, n, sizeof(HandOut), CompareHandOuts);
	int completed = Vacate(tables, hand_outs, n, ids, vacancies, &vacant);
	pg::InsertRows(tables.archive, tables.finished);
	if (vacant > 0)
		FillVacancies(tables.jobs, vacancies, vacant);
	return completed;
}

static Datum
CutError(Datum error)
{
	text *whole = DatumGetTextPP(error);
	int size = VARSIZE_ANY_EXHDR(whole);

	if (size <= kErrorBytes)
		return PointerGetDatum(whole);
	return PointerGetDatum(
		cstring_to_text_with_len(VARDATA_ANY(whole), pg_mbcliplen(VARDATA_ANY(whole), size, kErrorBytes)));
}

static TimestampTz
RetryAt(const QueueSettings &settings, int failures, const Interval *retry_in)
{
	TimestampTz now = GetCurrentTimestamp();

	if (retry_in != nullptr)
		return Later(now, *retry_in);
	return now + Backoff(Microseconds(settings.backoff), Microseconds(settings.max_backoff), failures,
						 pg_prng_double(&pg_global_prng_state));
}

// Makes the job in jobs.row wait for its next attempt. It stays the head of its key.
static pg::Outcome
Delay(const pg::Table &jobs, Snapshot snapshot, const Job &job, TimestampTz until, Datum error)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kState, LetterDatum(State::Delayed));
	pg::Set(jobs, column::kHeld, BoolGetDatum(false));
	pg::SetNull(jobs, column::kLeaseUntil);
	pg::Set(jobs, column::kFailures, Int32GetDatum(job.failures + 1));
	pg::Set(jobs, column::kVisibleAt, TimestampTzGetDatum(until));
	pg::Set(jobs, column::kLastError, error);
	NoteDue(until);
	NoteTaken(RelationGetRelid(jobs.relation), job);
	return pg::Update(jobs, &tid, snapshot);
}

bool
Fail(Oid schema, const HandOut &hand_out, Datum error, const Interval *retry_in)
{
	JobTables tables = OpenJobTables(schema);
	NullableDatum last_error = {CutError(error), false};
	bool runs_again = false;
	bool current = ChangeCurrent(tables.jobs, hand_out, [&](Snapshot snapshot, const Job &job) {
		QueueSettings settings = SettingsOfJob(schema, snapshot, job.queue);
		int32 failures = job.failures + 1;

		runs_again = failures < settings.max_attempts;
		if (runs_again)
			return Delay(tables.jobs, snapshot, job, RetryAt(settings, failures, retry_in), last_error.value);
		return Leave(tables, snapshot, job, Ending{Status::Failed, failures, last_error, kNone});
	});

	if (!current)
		RaiseNotCurrent(hand_out);
	CloseJobTables(&tables);
	return runs_again;
}

} // namespace pgq_ext::queue
