// Leases: see lease.hpp.
#include "queue/lease.hpp"

#include "queue/due.hpp"
#include "queue/queue_settings.hpp"

namespace pgq_ext::queue {

// Changes the job in jobs.row to this state, until or from visible_at.
static pg::Outcome
Change(const pg::Table &jobs, Snapshot snapshot, const Job &job, State state,
	   TimestampTz visible_at, bool held)
{
	ItemPointerData tid = job.tid;

	pg::StartChange(jobs);
	pg::Set(jobs, column::kState, LetterDatum(state));
	pg::Set(jobs, column::kHeld, BoolGetDatum(held));
	pg::Set(jobs, column::kVisibleAt, TimestampTzGetDatum(visible_at));
	if (state != State::Ready)
		NoteDue(visible_at);
	return pg::Update(jobs, &tid, snapshot);
}

TimestampTz
Extend(Oid schema, const HandOut &hand_out, const Interval *lease)
{
	pg::Table jobs = pg::Open(schema, "pgq_job");
	TimestampTz until = 0;
	bool current = ChangeCurrent(jobs, hand_out, [&](Snapshot snapshot, const Job &job) {
		until = Later(GetCurrentTimestamp(),
					  lease != nullptr ? *lease : SettingsOfJob(schema, snapshot, job.queue).lease);
		if (job.state == State::Leased)
			until = Max(until, job.visible_at);
		return Change(jobs, snapshot, job, State::Leased, until, true);
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
			return Change(jobs, snapshot, job, State::Ready, now, false);
		return Change(jobs, snapshot, job, State::Delayed, Later(now, *run_in), false);
	});

	if (!current)
		RaiseNotCurrent(hand_out);
	pg::Close(&jobs);
}

} // namespace pgq_ext::queue
