// Gathering events where they come fast: a transaction of ours for each of theirs would take a processor from who writes them.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::process {

// How many events have come lately.
struct Crowd {
	double events; // each counts for less as it gets older
	TimestampTz at;
};

// Counts what a transaction has converted.
void CountCrowd(Crowd *crowd, int64 events, TimestampTz now);

// If events come so fast that several will have come by then, waits for five milliseconds, in which nobody need wake us; false,
// and no waiting, if they don't.
bool Gather(const Crowd &crowd);

} // namespace pgq_ext::process
