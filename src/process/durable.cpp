// Which progress is durable: see durable.hpp.
#include "process/durable.hpp"

#include "decode/slot.hpp"
#include "pg/fault.hpp"
#include "process/writer.hpp"

namespace pgq_ext::process {

constexpr int kConfirmIntervalMs = 200;

void
NoteWritten(DurableQueue *queue, XLogRecPtr last_lsn, XLogRecPtr commit_end)
{
	if (queue->n < DurableQueue::kMax)
		queue->n++;
	queue->written[queue->n - 1] = {last_lsn, commit_end};
}

XLogRecPtr
TakeDurable(DurableQueue *queue)
{
	XLogRecPtr flushed = GetFlushRecPtr(nullptr);
	XLogRecPtr newest = InvalidXLogRecPtr;
	int taken = 0;

	while (taken < queue->n && queue->written[taken].commit_end <= flushed)
		newest = queue->written[taken++].last_lsn;
	queue->n -= taken;
	memmove(queue->written, queue->written + taken, queue->n * sizeof(queue->written[0]));
	return newest;
}

void
ConfirmDurable(Enqueuer *enqueuer)
{
	DurableQueue *queue = &enqueuer->durable;
	TimestampTz now = GetCurrentTimestamp();

	if (queue->n == 0 || !TimestampDifferenceExceeds(queue->confirmed_at, now, kConfirmIntervalMs))
		return;
	queue->confirmed_at = now;
	XLogRecPtr lsn = TakeDurable(queue);
	if (XLogRecPtrIsInvalid(lsn))
		return;
	pg::FaultPoint("before_confirm");
	decode::ConfirmSlot(lsn);
	pg::FaultPoint("after_confirm");
}

} // namespace pgq_ext::process
