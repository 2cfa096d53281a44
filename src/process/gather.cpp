// Letting events gather: see gather.hpp.
#include "process/gather.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"
}

#include <cmath>

namespace pgq_ext::process {

constexpr long kGatherMs = 5;

// Of this time, by and large, are the events that are counted: more than so many are a crowd, one a millisecond.
constexpr double kMemoryUs = 10000;
constexpr double kCrowd = 10;

// Also where the clock was set back, they are forgotten: nobody must wait until it is where it was.
static double
EventsNow(const Crowd &crowd, TimestampTz now)
{
	return crowd.events * exp(-fabs(static_cast<double>(now - crowd.at)) / kMemoryUs);
}

void
CountCrowd(Crowd *crowd, int64 events, TimestampTz now)
{
	crowd->events = EventsNow(*crowd, now) + static_cast<double>(events);
	crowd->at = now;
}

bool
Gather(const Crowd &crowd)
{
	if (EventsNow(crowd, GetCurrentTimestamp()) < kCrowd)
		return false;
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kGatherMs, PG_WAIT_EXTENSION);
	return true;
}

} // namespace pgq_ext::process
