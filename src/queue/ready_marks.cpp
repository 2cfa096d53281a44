// Marks in the index of ready jobs: see ready_marks.hpp.
#include "queue/ready_marks.hpp"

namespace pgq_ext::queue {

// A claim begins at the start after this time, or after many times what the last such claim took.
constexpr int64 kFullScanInterval = 5 * USECS_PER_SEC;
constexpr int64 kFullScanShare = 100;

template <typename AnyMark>
static AnyMark *
FindAmong(AnyMark *marks, int n, int32 priority)
{
	for (int i = 0; i < n; i++)
		if (marks[i].priority == priority)
			return &marks[i];
	return nullptr;
}

static Mark *
FindMark(ReadyMarks *marks, int32 priority)
{
	return FindAmong(marks->marks, marks->n, priority);
}

static void
Forget(ReadyMarks *marks)
{
	marks->n = 0;
	marks->resets++;
	marks->leases_known = false;
	marks->marked = PG_INT32_MIN;
}

void
ForgetMarks(ReadyMarks *marks)
{
	if (marks == nullptr)
		return;
	SpinLockAcquire(&marks->lock);
	Forget(marks);
	SpinLockRelease(&marks->lock);
}

void
LowerMarks(ReadyMarks *marks)
{
	SpinLockAcquire(&marks->lock);
	for (int i = 0; i < marks->n; i++)
		marks->marks[i].from = 0;
	marks->marked = PG_INT32_MIN;
	marks->resets++;
	SpinLockRelease(&marks->lock);
}

// Adds a mark, at the start, for a priority that has none; nullptr, and all of them forgotten, when there are too many.
static Mark *
AddMark(ReadyMarks *marks, int32 priority)
{
	int i = marks->n;

	if (i == kMaxMarks) {
		Forget(marks);
		return nullptr;
	}
	for (; i > 0 && marks->marks[i - 1].priority > priority; i--)
		marks->marks[i] = marks->marks[i - 1];
	marks->n++;
	marks->marks[i] = Mark{priority, 0, -1};
	return &marks->marks[i];
}

Mark *
MarkOf(ReadyMarks *marks, int32 priority)
{
	Mark *mark = FindMark(marks, priority);

	return mark != nullptr ? mark : AddMark(marks, priority);
}

// Whether the order is before the mark of its priority: a claim that keeps to the marks would not come across it.
static bool
IsEarly(const Mark *marks, int n, ReadyOrder order)
{
	const Mark *mark = FindAmong(marks, n, order.priority);

	return mark != nullptr && order.position < mark->from;
}

static int
CompareOrders(const void *a, const void *b)
{
	const auto *x = static_cast<const ReadyOrder *>(a);
	const auto *y = static_cast<const ReadyOrder *>(b);

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return x->position == y->position ? 0 : x->position < y->position ? -1 : 1;
}

void
PlanClaim(ReadyMarks *marks, ClaimPlan *plan)
{
	plan->marks = marks;
	plan->full = marks == nullptr;
	plan->nmarks = plan->nearly = 0;
	plan->marked = PG_INT32_MIN;
	if (marks == nullptr)
		return;
	SpinLockAcquire(&marks->lock);
	plan->noted = marks->noted;
	plan->resets = marks->resets;
	plan->marked = marks->marked;
	plan->nmarks = marks->n;
	memcpy(plan->at, marks->marks, marks->n * sizeof(Mark));
	for (uint64 i = marks->looked; i < marks->noted; i++) {
		ReadyOrder order = marks->recent[i % kMaxRecent];
		if (order.position >= 0 && IsEarly(plan->at, plan->nmarks, order))
			plan->early[plan->nearly++] = order;
	}
	SpinLockRelease(&marks->lock);
	qsort(plan->early, plan->nearly, sizeof(ReadyOrder), CompareOrders);
}

bool
TakeFullScan(ReadyMarks *marks, TimestampTz now)
{
	if (marks == nullptr)
		return false;
	SpinLockAcquire(&marks->lock);
	bool due = now >= marks->full_scan_at;
	if (due)
		marks->full_scan_at = now + kFullScanInterval; // nobody else need do it meanwhile
	SpinLockRelease(&marks->lock);
	return due;
}

void
RemoveFromPlan(ClaimPlan *plan, int i)
{
	plan->nearly--;
	memmove(&plan->early[i], &plan->early[i + 1], (plan->nearly - i) * sizeof(ReadyOrder));
}

void
AddToPlan(ClaimPlan *plan, ReadyOrder order, bool all_behind)
{
	Mark *mark = FindAmong(plan->at, plan->nmarks, order.priority);

	if (mark == nullptr)
		plan->marked = Min(plan->marked, order.priority);
	if (mark == nullptr || order.position >= mark->from)
		return;
	if (!all_behind && plan->nearly < kMaxEarly) {
		plan->early[plan->nearly++] = order;
		qsort(plan->early, plan->nearly, sizeof(ReadyOrder), CompareOrders);
		return;
	}
	mark->from = order.position;
	for (int i = plan->nearly - 1; i >= 0; i--) // what is found from the mark on now has its place there
		if (!IsEarly(plan->at, plan->nmarks, plan->early[i]))
			RemoveFromPlan(plan, i);
}

// To where a claim may move the mark of a priority.
static int64
Bound(const ReadyMarks *marks, uint64 noted, const Seen &seen)
{
	int64 to = seen.to;

	for (uint64 i = noted; i < marks->noted; i++) {
		ReadyOrder order = marks->recent[i % kMaxRecent];
		if (order.priority == seen.priority && order.position >= 0)
			to = Min(to, order.position);
	}
	return to;
}

// Whether it is not known any more what has been noted since the claim began.
static bool
IsOvertaken(const ReadyMarks &marks, const ClaimPlan &plan)
{
	return marks.resets != plan.resets || marks.noted - plan.noted > kMaxRecent;
}

// From where on the claim has looked at the priority.
static int64
StartOf(const ClaimPlan &plan, int32 priority)
{
	const Mark *mark = plan.full ? nullptr : FindAmong(plan.at, plan.nmarks, priority);

	return mark != nullptr ? mark->from : 0;
}

// What has been lowered since to where the claim has not looked stays there.
static void
MoveMark(ReadyMarks *marks, const ClaimPlan &plan, const Seen &seen)
{
	bool overtaken = IsOvertaken(*marks, plan);
	Mark *mark = MarkOf(marks, seen.priority);

	if (mark == nullptr)
		return;
	mark->highest = Max(mark->highest, seen.claimed);
	int64 to = overtaken ? seen.to : Bound(marks, plan.noted, seen);
	if (plan.full) // it has seen what is before the mark
		mark->from = Min(mark->from, to);
	if (!overtaken && mark->from >= StartOf(plan, seen.priority))
		mark->from = Max(mark->from, to);
}

// A claim from the start that had enough has not come to all marks: they may be wrong.
static void
LowerUnseen(ReadyMarks *marks, const Seen *seen, int nseen, int64 covered)
{
	for (int i = 0; i < marks->n; i++) {
		bool looked = marks->marks[i].priority < covered;
		for (int j = 0; j < nseen; j++)
			looked |= marks->marks[i].priority == seen[j].priority;
		if (!looked)
			marks->marks[i].from = 0;
	}
}

// What the claim has seen has a mark by now; what was noted since it began gets one.
static void
MoveMarked(ReadyMarks *marks, const ClaimPlan &plan, int64 covered)
{
	if (plan.full)
		marks->marked = Min(marks->marked, covered);
	for (uint64 i = plan.noted; i < marks->noted && !IsOvertaken(*marks, plan); i++)
		if (marks->recent[i % kMaxRecent].priority < covered)
			(void)MarkOf(marks, marks->recent[i % kMaxRecent].priority);
	if (!IsOvertaken(*marks, plan))
		marks->marked = Max(marks->marked, covered);
}

// Forgets those of the recent orders that the claim has looked at, and passes over what need not be looked at any more.
static void
ForgetLooked(ReadyMarks *marks, const ClaimPlan &plan, int nlooked)
{
	for (uint64 i = marks->looked; nlooked > 0 && i < plan.noted; i++) {
		ReadyOrder *order = &marks->recent[i % kMaxRecent];
		if (order->position >= 0 && bsearch(order, plan.early, nlooked, sizeof(ReadyOrder), CompareOrders) != nullptr)
			order->position = -1;
	}
	while (marks->looked < plan.noted && marks->looked < marks->noted &&
		   (marks->recent[marks->looked % kMaxRecent].position < 0 ||
			!IsEarly(marks->marks, marks->n, marks->recent[marks->looked % kMaxRecent])))
		marks->looked++;
}

void
MoveMarks(const ClaimPlan &plan, int nlooked, const Seen *seen, int nseen, int64 covered, TimestampTz began)
{
	ReadyMarks *marks = plan.marks;
	TimestampTz ended = GetCurrentTimestamp();

	if (marks == nullptr)
		return;
	SpinLockAcquire(&marks->lock);
	if (plan.full) {
		marks->full_scan_at = Max(marks->full_scan_at, ended + kFullScanShare * (ended - began));
		LowerUnseen(marks, seen, nseen, covered);
	}
	// Before the marks move: what was noted behind them is found there, or was seen.
	ForgetLooked(marks, plan, nlooked);
	for (int i = 0; i < nseen; i++)
		MoveMark(marks, plan, seen[i]);
	MoveMarked(marks, plan, covered);
	SpinLockRelease(&marks->lock);
}

// Makes room for one more: what nobody has looked at yet lowers its mark.
static void
ForgetOldest(ReadyMarks *marks)
{
	ReadyOrder order = marks->recent[marks->looked % kMaxRecent];
	Mark *mark = order.position >= 0 ? FindMark(marks, order.priority) : nullptr;

	if (mark != nullptr)
		mark->from = Min(mark->from, order.position);
	marks->looked++;
}

void
LowerMark(ReadyMarks *marks, ReadyOrder order, bool all_behind)
{
	SpinLockAcquire(&marks->lock);
	if (marks->noted - marks->looked == kMaxRecent)
		ForgetOldest(marks);
	marks->recent[marks->noted++ % kMaxRecent] = order;
	Mark *mark = order.priority < marks->marked ? MarkOf(marks, order.priority) : FindMark(marks, order.priority);
	if (mark != nullptr && all_behind)
		mark->from = Min(mark->from, order.position);
	SpinLockRelease(&marks->lock);
}

} // namespace pgq_ext::queue
