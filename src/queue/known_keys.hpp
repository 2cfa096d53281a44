// The keys that have got a job in this transaction of the enqueuer: the next one of such a key waits behind it, and nothing
// need be looked for or locked. Bounded: what is not known any more is in the table, and found there like any other.
#pragma once

#include "queue/keys.hpp"

namespace pgq_ext::queue {

struct KnownKeys {
	MemoryContext context; // of all below, and nothing else
	HTAB *by_hash;
};

KnownKeys NewKnownKeys(MemoryContext parent);

bool IsKnown(const KnownKeys &known, const Key &key);

// Adds a key that is present and not known. False: it, or others, are not known, though they have got a job.
bool AddKnown(KnownKeys *known, const Key &key);

void ForgetKnown(KnownKeys *known);

} // namespace pgq_ext::queue
