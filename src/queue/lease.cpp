// Leases: see lease.hpp.
#include "queue/lease.hpp"

#include "queue/due.hpp"
#include "queue/queue_settings.hpp"
#include "queue/ready_notes.hpp"

namespace pgq_ext::queue {

static pg::Outcome
SetLease(const pg::Table &jobs, Snapshot snapshot, const Job &job, TimestampTz until)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kLeaseUntil, TimestampTzGetDatum(until));
	NoteDue(until);
	NoteTaken(RelationGetRelid(jobs.relation), job);
	return pg::Update(jobs, &tid, snapshot);
}

// Takes the job in jobs.row out of its worker's hands; it is due at visible_at.
static pg::Outcome
GiveBack(const pg::Table &jobs, Snapshot snapshot, const Job &job, State state, TimestampTz visible_at)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kState, LetterDatum(state));
	pg::Set(jobs, column::kHeld, BoolGetDatum(false));
	pg::SetNull(jobs, column::kLeaseUntil);
	pg::Set(jobs, column::kVisibleAt, TimestampTzGetDatum(visible_at));
	NoteTaken(RelationGetRelid(jobs.relation), job);
	if (state == State::Delayed)
		NoteDue(visible_at);
	else
		NoteReady(RelationGetRelid(jobs.relation), job);
	return pg::Update(jobs, &tid, snapshot);
}

TimestampTz
Extend(Oid schema, const HandOut &hand_out, const Interval *lease)
{
	pg::Table jobs = pg::Open(schema, "pgq_job");
	TimestampTz until = 0;
	bool current = ChangeCurrent(jobs, hand_out, [&](Snapshot snapshot, const Job &job) {
		until =
			Later(GetCurrentTimestamp(), lease != nullptr ? *lease : SettingsOfJob(schema, snapshot, job.queue).lease);
		if (job.leased)
			until = Max(until, job.lease_until);
		return SetLease(jobs, snapshot, job, until);
	});

	if (!current)
		RaiseNotCurrent(hand_out);
	pg::Close(&jobs);
	return until;
}

void
Release(Oid schema, const HandOut &hand_out, const Interval *run_in)
{
	pg::Table jobs = pg::Open(schema, "pgq_job");
	bool current = ChangeCurrent(jobs, hand_out, [&](Snapshot snapshot, const Job &job) {
		TimestampTz now = GetCurrentTimestamp();

		if (run_in == nullptr)
			return GiveBack(jobs, snapshot, job, State::Ready, now);
		return GiveBack(jobs, snapshot, job, State::Delayed, Later(now, *run_in));
	});

	if (!current)
		RaiseNotCurrent(hand_out);
	pg::Close(&jobs);
}

} // namespace pgq_ext::queue
