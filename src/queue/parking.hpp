// Jobs that must wait for their place in their key: parked.
//
// While a large transaction is converted in pieces, what commits behind it goes on becoming jobs. A later job with a
// key must not start before those of the same key that are still to come, and nobody knows which keys these have. So as
// long as a piece is missing, later jobs with a key are parked when their handler has the name of one that applies to
// the large transaction: they have their position, but no place in their key. When all pieces are there, parked jobs
// take their places in the order of their positions; until none is left, new ones of those handlers are parked behind
// them.
#pragma once

#include "queue/keys.hpp"

namespace pgq_ext::queue {

// Whose jobs with a key are parked.
struct Parking {
	bool all;       // every handler's
	List *handlers; // names, as char *
};

// Whether a new job with this key is to be parked. parking may be nullptr: nobody's.
bool MustPark(const Parking *parking, const Key &key);

struct Placing {
	int placed;
	bool busy; // some are left because somebody is changing them, and those behind them in their keys
};

// Gives up to limit parked jobs with a position below end their places, in order. Never waits.
Placing PlaceParked(Oid schema, int64 end, int limit);

// Whether there are parked jobs.
bool HasParked(Oid schema);

} // namespace pgq_ext::queue
