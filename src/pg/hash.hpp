// The server's hash tables, by keys that are compared byte by byte.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/hsearch.h"
}

namespace pgq_ext::pg {

// Makes a hash table for about size entries of type Entry, which begin with their Key; in that memory.
template <typename Key, typename Entry>
inline HTAB *
NewHash(MemoryContext context, const char *name, long size)
{
	HASHCTL ctl = {};

	ctl.keysize = sizeof(Key);
	ctl.entrysize = sizeof(Entry);
	ctl.hcxt = context;
	return hash_create(name, size, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

} // namespace pgq_ext::pg
