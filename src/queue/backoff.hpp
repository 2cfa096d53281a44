// How long a failed job waits before it runs again. No server needed.
#pragma once

#include <cstdint>

namespace pgq_ext::queue {

// backoff doubled with each failure after the first, at most max_backoff, of which a random half to
// whole is taken, so that jobs which failed together don't come back together. Times in
// microseconds, positive. failures: this one included, at least 1. random: from 0 up to, not
// including, 1. At least one microsecond.
inline int64_t
Backoff(int64_t backoff, int64_t max_backoff, int failures, double random)
{
	int64_t delay = backoff;

	for (int i = 1; i < failures && delay < max_backoff; i++)
		delay = delay > max_backoff / 2 ? max_backoff : delay * 2;
	if (delay > max_backoff)
		delay = max_backoff;

	int64_t half = delay / 2;
	int64_t chosen = half + static_cast<int64_t>(static_cast<double>(delay - half) * random);
	return chosen > 0 ? chosen : 1;
}

} // namespace pgq_ext::queue
