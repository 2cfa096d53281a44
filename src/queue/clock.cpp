// The time that expressions may take: see clock.hpp.
#include "queue/clock.hpp"

extern "C" {
#include "utils/timeout.h"
}

namespace pgq_ext::queue {

static TimestampTz deadline; // 0: the clock does not run
static ErrorContextCallback insistence;

// Called with each error that is raised while the clock runs.
static void
Insist(void *)
{
	if (deadline == 0 || GetCurrentTimestamp() < deadline)
		return;
	QueryCancelPending = true;
	InterruptPending = true;
}

TimestampTz
StartClock(int timeout_ms)
{
	TimestampTz before = deadline;

	if (timeout_ms <= 0)
		return before;
	if (before == 0) { // else it is on the stack already, and would follow itself
		insistence.callback = Insist;
		insistence.previous = error_context_stack;
		error_context_stack = &insistence;
	}
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
	enable_timeout_at(STATEMENT_TIMEOUT, deadline);
	return before;
}

// The clock may have struck between the end of the work and its being stopped: then it must not cancel what comes next.
void
StopClock(TimestampTz before)
{
	if (deadline == before)
		return;
	disable_timeout(STATEMENT_TIMEOUT, true);
	if (get_timeout_indicator(STATEMENT_TIMEOUT, true) || GetCurrentTimestamp() >= deadline)
		QueryCancelPending = false;
	if (before == 0 && error_context_stack == &insistence)
		error_context_stack = insistence.previous;
	deadline = before;
	if (before != 0)
		enable_timeout_at(STATEMENT_TIMEOUT, before);
}

} // namespace pgq_ext::queue
