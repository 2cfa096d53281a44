// Unit test of the backoff; prints TAP.
#include "queue/backoff.hpp"

#include <limits.h>
#include <stdio.h>

using pgq_ext::queue::Backoff;

static int tests;

static void
Ok(bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
}

static bool
IsWithin(int64_t value, int64_t low, int64_t high)
{
	return value >= low && value <= high;
}

// The longest delay there is after so many failures, all but the last microsecond.
static bool
ReachesAbout(int64_t expected, int64_t backoff, int64_t max_backoff, int failures)
{
	return IsWithin(Backoff(backoff, max_backoff, failures, 0.999999999), expected - 1, expected);
}

static bool
DoublesUpToTheMaximum()
{
	return ReachesAbout(1000, 1000, 6000, 1) && ReachesAbout(2000, 1000, 6000, 2) &&
		   ReachesAbout(4000, 1000, 6000, 3) && ReachesAbout(6000, 1000, 6000, 4) &&
		   ReachesAbout(6000, 1000, 6000, 1000);
}

static bool
NeverLeavesItsRange()
{
	for (int failures = 1; failures < 100; failures++)
		for (double random = 0; random < 1; random += 0.01) {
			int64_t delay = Backoff(1000000, 300000000, failures, random);
			if (!IsWithin(delay, 500000, 300000000))
				return false;
		}
	return true;
}

int
main()
{
	printf("1..7\n");
	Ok(Backoff(1000, 6000, 1, 0) == 500, "the shortest delay is half");
	Ok(DoublesUpToTheMaximum(), "each failure doubles the delay, up to the maximum");
	Ok(NeverLeavesItsRange(), "no delay leaves its range");
	Ok(ReachesAbout(500, 1000, 500, 1), "a maximum below the backoff counts");
	Ok(Backoff(1, 1, 1, 0) == 1, "a delay is at least a microsecond");
	Ok(Backoff(INT64_MAX, INT64_MAX, INT_MAX, 0.5) > 0, "the longest delays don't overflow");
	Ok(Backoff(3, INT64_MAX, 80, 0.5) > INT64_MAX / 4, "doubling stops before it overflows");
	return 0;
}
