// Which keys have no live job: spares the appender a search in the index of keys for each new key.
//
// A Bloom filter in the enqueuer's process, of the hashes of all keys in that index and of those that it has added since.
// Nobody else adds live jobs (rule 1 of keys.hpp), so a key that the filter lacks has none. It is made when enough searches
// have found nothing to make up for reading the index once, and made anew when it is full.
#pragma once

#include "queue/keys.hpp"

namespace pgq_ext::queue {

// Whether the key is known to have no live job.
bool LacksKey(const Key &key);

// To be called for every key that gets a job or may get one.
void AddKeyToFilter(const Key &key);

// To be called when a key was searched in vain: whether the filter is worth making now.
bool NeedsKeyFilter(const pg::Table &jobs);

// Makes the filter from the index, in which all jobs must be that have been added. The snapshot is one that is registered.
void MakeKeyFilter(const pg::Table &jobs, Snapshot snapshot);

} // namespace pgq_ext::queue
