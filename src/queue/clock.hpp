// The time that expressions may take.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

// Starts the clock that cancels what runs too long (57014), and stops it. 0: no limit of its own. Once the time is up,
// every further error cancels again: a function that catches the cancellation, in order to go on, is cancelled in its
// handler, and in that one's handler, until it has ended. The clock must be stopped before anything else that can be
// cancelled.
//
// Clocks nest: StartClock returns when the one that ran before would have struck, 0 for none, and StopClock, given that,
// lets it run on. Without it no clock runs any more, however many were started: so after an error.
TimestampTz StartClock(int timeout_ms);
void StopClock(TimestampTz before = 0);

} // namespace pgq_ext::queue
