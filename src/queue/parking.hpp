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

extern "C" {
#include "utils/hsearch.h"
}

namespace pgq_ext::queue {

// Whose jobs with a key are parked.
struct Parking {
	bool all;       // every handler's
	List *handlers; // names, as char *
	HTAB *keys;     // of NewKeys; nullptr: none by their key
};

// An empty set of keys, in the current memory context; hash_destroy frees it.
HTAB *NewKeys();

// Whether a new job with this key is to be parked. parking may be nullptr: nobody's.
bool MustPark(const Parking *parking, const Key &key);

// Gives up to limit parked jobs with a position below end their places, in order, and returns their number. Never waits: a
// job that somebody is changing stays parked, and so do those behind it in its key. When fewer than limit were placed, left
// has the keys of all that stay parked below until.
int PlaceParked(Oid schema, int64 end, int64 until, int limit, HTAB *left);

// Whether there are parked jobs.
bool HasParked(Oid schema);

} // namespace pgq_ext::queue
