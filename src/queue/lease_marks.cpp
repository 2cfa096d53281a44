// The marks up to which there may be leases: see ready_marks.hpp.
#include "queue/ready_marks.hpp"

namespace pgq_ext::queue {

bool
CopyLeaseMarks(ReadyMarks *marks, Mark *at, int *n, uint64 *resets)
{
	if (marks == nullptr)
		return false;
	SpinLockAcquire(&marks->lock);
	bool known = marks->leases_known;
	*resets = marks->resets;
	*n = marks->n;
	memcpy(at, marks->marks, marks->n * sizeof(Mark));
	SpinLockRelease(&marks->lock);
	return known;
}

void
SetLeaseMarks(ReadyMarks *marks, uint64 resets, const ReadyOrder *last, int n)
{
	if (marks == nullptr)
		return;
	SpinLockAcquire(&marks->lock);
	bool known = marks->resets == resets;
	for (int i = 0; known && i < n; i++) {
		Mark *mark = MarkOf(marks, last[i].priority);
		known = mark != nullptr;
		if (known)
			mark->highest = Max(mark->highest, last[i].position);
	}
	marks->leases_known = known;
	SpinLockRelease(&marks->lock);
}

} // namespace pgq_ext::queue
