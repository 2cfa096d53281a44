// Adding live jobs: see append.hpp.
#include "queue/append.hpp"

#include "queue/due.hpp"
#include "queue/key_filter.hpp"
#include "queue/parking.hpp"
#include "queue/ready_notes.hpp"

namespace pgq_ext::queue {

// Where a new job stands in its key.
enum class Place { Head, PerhapsHead, Behind, Parked };

Appender *
OpenAppender(Oid schema, const Parking *parking)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext appender", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	auto *appender = static_cast<Appender *>(palloc0(sizeof(Appender)));

	appender->context = context;
	appender->known = NewKnownKeys(context);
	appender->row_context = AllocSetContextCreate(context, "pgq_ext new job", ALLOCSET_DEFAULT_SIZES);
	appender->jobs = pg::Open(schema, "pgq_job");
	appender->rows = pg::NewRows(appender->jobs);
	appender->parking = parking;
	appender->snapshot = pg::FreshSnapshot();
	MemoryContextSwitchTo(old);
	return appender;
}

void
InsertAppended(Appender *appender)
{
	pg::InsertRows(appender->jobs, appender->rows);
}

void
CloseAppender(Appender *appender)
{
	InsertAppended(appender);
	UnregisterSnapshot(appender->snapshot);
	pg::Close(&appender->jobs);
	MemoryContextDelete(appender->context);
}

void
ForgetAppended(Appender *appender)
{
	ForgetKnown(&appender->known);
	appender->stale = true;
}

// Notes that this transaction has added a job of the key.
static void
Remember(Appender *appender, const Key &key)
{
	if (!key.present || IsKnown(appender->known, key))
		return;
	AddKeyToFilter(key);
	if (!AddKnown(&appender->known, key))
		appender->stale = true;
}

// Takes care that the job in jobs.row, live in the snapshot, can't leave unnoticed before our
// commit. Never waits.
static pg::Outcome
Hold(const pg::Table &jobs, Snapshot snapshot)
{
	ItemPointerData tid = jobs.row->tts_tid;
	pg::Standing standing = pg::StandingOf(jobs, &tid);

	if (standing == pg::Standing::Current) {
		pg::Outcome outcome = pg::Lock(jobs, &tid, snapshot, LockTupleKeyShare, pg::Wait::No, pg::Version::This);
		if (outcome != pg::Outcome::Done)
			return outcome;
		standing = pg::StandingOf(jobs, &tid); // what was changed before the lock doesn't carry it
	}
	switch (standing) {
	case pg::Standing::Current:
		return pg::Outcome::Done;
	case pg::Standing::BeingChanged:
		return pg::Outcome::Busy;
	case pg::Standing::Gone:
		break;
	}
	return pg::Outcome::Changed;
}

static void
Renew(Appender *appender)
{
	MemoryContext old = MemoryContextSwitchTo(appender->context);

	InsertAppended(appender);
	UnregisterSnapshot(appender->snapshot);
	appender->snapshot = pg::FreshSnapshot();
	appender->stale = false;
	MemoryContextSwitchTo(old);
}

// A key was searched in vain.
static void
NoteMissing(Appender *appender)
{
	if (!NeedsKeyFilter(appender->jobs))
		return;
	InsertAppended(appender);
	MakeKeyFilter(appender->jobs, appender->snapshot);
}

// Rule 2 of keys.hpp.
static Place
FindPlace(Appender *appender, const Key &key)
{
	if (!key.present)
		return Place::Head;
	if (IsKnown(appender->known, key))
		return Place::Behind;
	if (LacksKey(key))
		return Place::Head;
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		if (appender->stale)
			Renew(appender);
		if (!FindLast(appender->jobs, appender->snapshot, key)) {
			NoteMissing(appender);
			return Place::Head;
		}
		switch (Hold(appender->jobs, appender->snapshot)) {
		case pg::Outcome::Done:
			return Place::Behind;
		case pg::Outcome::Busy:
			return Place::PerhapsHead;
		case pg::Outcome::Changed:
			appender->stale = true;
		}
	}
}

static State
StateAt(Place place)
{
	switch (place) {
	case Place::Behind:
		return State::Waiting;
	case Place::Parked:
		return State::Parked;
	case Place::Head:
	case Place::PerhapsHead:
		break;
	}
	return State::Ready;
}

// Where a job with this key goes.
static Place
PlaceOf(Appender *appender, const Key &key)
{
	return MustPark(appender->parking, key) ? Place::Parked : FindPlace(appender, key);
}

static void
SetPlace(const pg::Table &jobs, Place place)
{
	pg::Set(jobs, column::kState, LetterDatum(StateAt(place)));
	pg::Set(jobs, column::kVerified, BoolGetDatum(place != Place::PerhapsHead));
}

static void
SetNullable(const pg::Table &jobs, int column, NullableDatum value)
{
	if (!value.isnull)
		pg::Set(jobs, column, value.value);
}

static void
StartJob(const pg::Table &jobs, const NewJob &job, const Key &key, TimestampTz visible_at)
{
	using namespace column;

	pg::StartRow(jobs);
	pg::Set(jobs, kJobId, Int64GetDatum(job.job_id));
	if (key.present)
		pg::Set(jobs, kKeyHash, Int64GetDatum(key.hash));
	pg::Set(jobs, kVisibleAt, TimestampTzGetDatum(visible_at));
	pg::Set(jobs, kCreatedAt, TimestampTzGetDatum(job.created_at));
	pg::Set(jobs, kPriority, Int32GetDatum(job.priority));
	pg::Set(jobs, kAttempt, Int32GetDatum(job.attempt));
	pg::Set(jobs, kFailures, Int32GetDatum(job.failures));
	pg::Set(jobs, kHeld, BoolGetDatum(false));
	pg::Set(jobs, kQueue, job.queue);
	pg::Set(jobs, kHandler, job.handler);
	SetNullable(jobs, kKey, job.key);
	SetNullable(jobs, kLastError, job.last_error);
	SetNullable(jobs, kArgs, job.args);
}

void
Append(Appender *appender, const NewJob &job)
{
	const pg::Table &jobs = appender->jobs;
	MemoryContext old = MemoryContextSwitchTo(appender->row_context);
	Key key = MakeKey(job.handler, job.key);
	Place place = PlaceOf(appender, key);

	StartJob(jobs, job, key, GetCurrentTimestamp());
	pg::Set(jobs, column::kPosition, Int64GetDatum(job.position));
	SetPlace(jobs, place);
	pg::AddRow(jobs, appender->rows);
	if (StateAt(place) == State::Ready)
		NoteReady(FindReadyMarks(RelationGetRelid(jobs.relation), job.queue), ReadyOrder{job.priority, job.position});
	if (place != Place::Parked)
		Remember(appender, key);
	MemoryContextSwitchTo(old);
	MemoryContextReset(appender->row_context);
}

void
AppendScheduled(Appender *appender, const NewJob &job)
{
	const pg::Table &jobs = appender->jobs;
	MemoryContext old = MemoryContextSwitchTo(appender->row_context);

	StartJob(jobs, job, MakeKey(job.handler, job.key), job.visible_at);
	pg::Set(jobs, column::kState, LetterDatum(State::Scheduled));
	pg::Set(jobs, column::kVerified, BoolGetDatum(true));
	pg::AddRow(jobs, appender->rows);
	NoteDue(job.visible_at);
	MemoryContextSwitchTo(old);
	MemoryContextReset(appender->row_context);
}

bool
PlaceJob(Appender *appender, const pg::Table &jobs, int64 position)
{
	MemoryContext old = MemoryContextSwitchTo(appender->row_context);
	Job job = ReadJob(jobs.row);
	Place place = PlaceOf(appender, job.key);

	pg::StartChange(jobs);
	pg::Set(jobs, column::kPosition, Int64GetDatum(position));
	SetPlace(jobs, place);
	bool placed = pg::UpdateNoWait(jobs, &job.tid, appender->snapshot) == pg::Outcome::Done;
	if (placed && place != Place::Parked)
		Remember(appender, job.key);
	if (placed && StateAt(place) == State::Ready)
		NoteReady(FindReadyMarks(RelationGetRelid(jobs.relation), job.queue), ReadyOrder{job.priority, position});
	MemoryContextSwitchTo(old);
	MemoryContextReset(appender->row_context);
	return placed;
}

} // namespace pgq_ext::queue
