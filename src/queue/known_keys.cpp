// Keys of a transaction: see known_keys.hpp.
#include "queue/known_keys.hpp"

#include "pg/hash.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace pgq_ext::queue {

// Beyond, all is forgotten.
constexpr Size kKnownBytes = 16 * 1024 * 1024;

// A longer key isn't remembered at all.
constexpr Size kKnownKeyBytes = 1024;

// Keys of one hash, in a hash table by hash.
struct KnownKey {
	Key key;
	KnownKey *next;
};

struct KnownEntry {
	int64 hash;
	KnownKey *first;
};

static void
Start(KnownKeys *known)
{
	known->by_hash = pg::NewHash<int64, KnownEntry>(known->context, "pgq_ext keys of a batch", 256);
}

KnownKeys
NewKnownKeys(MemoryContext parent)
{
	KnownKeys known = {AllocSetContextCreate(parent, "pgq_ext known keys", ALLOCSET_DEFAULT_SIZES), nullptr};

	Start(&known);
	return known;
}

bool
IsKnown(const KnownKeys &known, const Key &key)
{
	auto *entry = static_cast<KnownEntry *>(hash_search(known.by_hash, &key.hash, HASH_FIND, nullptr));

	for (KnownKey *one = entry != nullptr ? entry->first : nullptr; one != nullptr; one = one->next)
		if (SameKey(one->key, key))
			return true;
	return false;
}

bool
AddKnown(KnownKeys *known, const Key &key)
{
	bool complete = MemoryContextMemAllocated(known->context, true) <= kKnownBytes;
	bool found;

	if (toast_raw_datum_size(key.key) > kKnownKeyBytes)
		return false;
	if (!complete)
		ForgetKnown(known);
	auto *entry = static_cast<KnownEntry *>(hash_search(known->by_hash, &key.hash, HASH_ENTER, &found));
	if (!found)
		entry->first = nullptr;

	MemoryContext old = MemoryContextSwitchTo(known->context);
	auto *one = static_cast<KnownKey *>(palloc(sizeof(KnownKey)));
	*one = KnownKey{CopyKey(key), entry->first};
	entry->first = one;
	MemoryContextSwitchTo(old);
	return complete;
}

void
ForgetKnown(KnownKeys *known)
{
	MemoryContextReset(known->context); // the hash table too
	Start(known);
}

} // namespace pgq_ext::queue
