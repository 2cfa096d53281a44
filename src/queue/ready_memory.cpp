// The shared memory of all marks: see ready_marks.hpp.
#include "queue/ready_marks.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace pgq_ext::queue {

constexpr int kMaxQueues = 256; // of a cluster; any more have no marks

struct AllMarks {
	slock_t lock; // for giving out queues
	ReadyMarks queues[kMaxQueues];
};

static AllMarks *all; // nullptr: no shared memory

Size
ReadyMarksSize()
{
	return MAXALIGN(sizeof(AllMarks));
}

void
InitReadyMarks(void *memory, bool first)
{
	all = static_cast<AllMarks *>(memory);
	if (!first)
		return;
	memset(memory, 0, sizeof(AllMarks));
	SpinLockInit(&all->lock);
	for (ReadyMarks &marks : all->queues) {
		SpinLockInit(&marks.lock);
		ForgetMarks(&marks);
	}
}

static uint64
IdOf(Oid jobs, Datum queue)
{
	text *name = DatumGetTextPP(queue);
	uint64 id = hash_bytes_extended(reinterpret_cast<unsigned char *>(VARDATA_ANY(name)),
									static_cast<int>(VARSIZE_ANY_EXHDR(name)), (uint64)MyDatabaseId << 32 | jobs);

	return id != 0 ? id : 1;
}

// A queue's place is never taken from it, so an id that is there may be read without the lock.
static ReadyMarks *
Find(uint64 id, bool give)
{
	for (int i = 0; i < kMaxQueues; i++) {
		ReadyMarks *marks = &all->queues[(id + i) % kMaxQueues];
		if (marks->id == 0 && !give)
			return nullptr;
		if (marks->id == 0) {
			SpinLockAcquire(&all->lock);
			if (marks->id == 0)
				marks->id = id;
			SpinLockRelease(&all->lock);
		}
		if (marks->id == id)
			return marks;
	}
	return nullptr;
}

ReadyMarks *
FindReadyMarks(Oid jobs, Datum queue)
{
	return all != nullptr ? Find(IdOf(jobs, queue), true) : nullptr;
}

ReadyMarks *
KnownReadyMarks(Oid jobs, Datum queue)
{
	return all != nullptr ? Find(IdOf(jobs, queue), false) : nullptr;
}

void
ForgetAllMarks()
{
	if (all == nullptr)
		return;
	for (ReadyMarks &marks : all->queues)
		ForgetMarks(&marks);
}

void
DistrustReadyMarks()
{
	if (all == nullptr)
		return;
	for (ReadyMarks &marks : all->queues)
		LowerMarks(&marks);
}

} // namespace pgq_ext::queue
