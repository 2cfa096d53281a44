// Who is first: see keys.hpp.
#include "queue/keys.hpp"

#include "queue/ready_notes.hpp"

extern "C" {
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
}

namespace pgq_ext::queue {

int64
HashKey(Datum handler, Datum key)
{
	text *name = DatumGetTextPP(handler);
	text *value = DatumGetTextPP(key);
	Size name_size = VARSIZE_ANY_EXHDR(name);
	Size value_size = VARSIZE_ANY_EXHDR(value);
	Size size = name_size + 1 + value_size;
	auto *bytes = static_cast<unsigned char *>(MemoryContextAllocHuge(CurrentMemoryContext, size));

	memcpy(bytes, VARDATA_ANY(name), name_size);
	bytes[name_size] = 0;
	memcpy(bytes + name_size + 1, VARDATA_ANY(value), value_size);
	auto hash = static_cast<int64>(hash_bytes_extended(bytes, static_cast<int>(size), 0));
	pfree(bytes);
	return hash;
}

Key
MakeKey(Datum handler, NullableDatum key)
{
	if (key.isnull)
		return Key{false, 0, handler, (Datum)0};
	return Key{true, HashKey(handler, key.value), handler, key.value};
}

Key
CopyKey(const Key &key)
{
	Key copy = key;

	if (key.present) {
		copy.handler = datumCopy(key.handler, false, -1);
		copy.key = datumCopy(key.key, false, -1);
	}
	return copy;
}

bool
SameKey(const Key &a, const Key &b)
{
	return a.hash == b.hash && datum_image_eq(a.handler, b.handler, false, -1) &&
		   datum_image_eq(a.key, b.key, false, -1);
}

// Finds the first row in the direction, of those the scan keys admit, that has exactly this key.
static bool
FindOfKey(const pg::Table &jobs, Snapshot snapshot, const Key &key, ScanKey keys, int nkeys, ScanDirection direction,
		  TupleTableSlot *slot)
{
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_key", snapshot, keys, nkeys, slot);
	bool found = false;

	while (!found && scan.Next(direction))
		found = SameKey(ReadJob(slot).key, key);
	if (found)
		ExecMaterializeSlot(slot);
	scan.End();
	return found;
}

static void
HashIs(ScanKey scan_key, const Key &key)
{
	ScanKeyInit(scan_key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(key.hash));
}

bool
HasEarlier(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position)
{
	ScanKeyData keys[2];

	if (!key.present)
		return false;
	HashIs(&keys[0], key);
	ScanKeyInit(&keys[1], 2, BTLessStrategyNumber, F_INT8LT, Int64GetDatum(position));
	return FindOfKey(jobs, snapshot, key, keys, 2, BackwardScanDirection, jobs.spare);
}

// Finds the key's first job in this range of positions.
static bool
FindBetween(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 after, int64 up_to)
{
	ScanKeyData keys[3];

	HashIs(&keys[0], key);
	ScanKeyInit(&keys[1], 2, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(after));
	ScanKeyInit(&keys[2], 2, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(up_to));
	return FindOfKey(jobs, snapshot, key, keys, 3, ForwardScanDirection, jobs.row);
}

// A scan reads all entries on a page that the keys admit before it returns the first, and of a key with many jobs these are
// hundreds. So it looks no further at first than where the next job is likely to be: a few times as far as the last time.
bool
FindNext(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position)
{
	constexpr int64 kEnd = PG_INT64_MAX;
	constexpr int64 kTimes = 4;
	static int64 reach = kEnd;
	int64 near = reach < kEnd - position ? position + reach : kEnd;
	bool found = FindBetween(jobs, snapshot, key, position, near);
	bool isnull;

	if (!found && near < kEnd)
		found = FindBetween(jobs, snapshot, key, near, kEnd);
	int64 distance = found ? DatumGetInt64(pg::Get(jobs.row, column::kPosition, &isnull)) - position : kEnd;
	reach = distance < kEnd / kTimes ? kTimes * distance : kEnd;
	return found;
}

bool
FindLast(const pg::Table &jobs, Snapshot snapshot, const Key &key)
{
	ScanKeyData hash;

	HashIs(&hash, key);
	return FindOfKey(jobs, snapshot, key, &hash, 1, BackwardScanDirection, jobs.row);
}

bool
NeedsPromotion(const Job &next, Departed departed)
{
	switch (next.state) {
	case State::Waiting:
		return true;
	case State::Ready:
		return !next.verified && departed == Departed::Verified;
	default:
		return false;
	}
}

static pg::Outcome
TryPromoteNext(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position, Departed departed,
			   pg::Wait wait)
{
	if (!FindNext(jobs, snapshot, key, position))
		return pg::Outcome::Done;

	Job next = ReadJob(jobs.row);
	if (!NeedsPromotion(next, departed))
		return pg::Outcome::Done;
	pg::StartChange(jobs);
	pg::Set(jobs, column::kState, LetterDatum(State::Ready));
	pg::Set(jobs, column::kVerified, BoolGetDatum(departed == Departed::Verified));
	NoteReady(RelationGetRelid(jobs.relation), next);
	if (wait == pg::Wait::Yes || next.state == State::Waiting)
		return pg::Update(jobs, &next.tid, snapshot);

	pg::Outcome outcome = pg::UpdateNoWait(jobs, &next.tid, snapshot);
	// Nobody needs an unverified job to be verified: that only spares dequeue a look.
	return outcome == pg::Outcome::Busy ? pg::Outcome::Done : outcome;
}

void
PromoteNextIn(const pg::Table &jobs, Snapshot snapshot, const Key &key, int64 position, Departed departed)
{
	constexpr pg::Wait kWait = pg::Wait::Yes;

	if (key.present && TryPromoteNext(jobs, snapshot, key, position, departed, kWait) != pg::Outcome::Done)
		PromoteNext(jobs, key, position, departed, kWait);
}

void
PromoteNext(const pg::Table &jobs, const Key &key, int64 position, Departed departed, pg::Wait wait)
{
	pg::Outcome outcome = key.present ? pg::Outcome::Changed : pg::Outcome::Done;

	while (outcome != pg::Outcome::Done) {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = pg::FreshSnapshot();
		outcome = TryPromoteNext(jobs, snapshot, key, position, departed, wait);
		UnregisterSnapshot(snapshot);
	}
}

} // namespace pgq_ext::queue
