// The filter of keys: see key_filter.hpp.
#include "queue/key_filter.hpp"

extern "C" {
#include "access/itup.h"
#include "lib/bloomfilter.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
}

namespace pgq_ext::queue {

// A search in vain costs about a tenth of what it costs to read a page of the index.
constexpr int64 kSearchesPerPage = 10;
constexpr int64 kLookAgain = 1000; // how large the index is now

// 16 bits a key, or down to half of that, as there is a power of two of them: of a thousand new keys, one to twenty are searched.
constexpr int64 kFewestKeys = 512 * 1024;
constexpr int64 kMostKeys = 16 * 1024 * 1024;
constexpr int64 kBytesPerKey = 2;

static MemoryContext context; // of the filter
static bloom_filter *filter;
static int64 keys;     // in the filter
static int64 most;     // that it was made for
static int64 searches; // in vain, since there has been no filter

static unsigned char *
BytesOf(int64 *hash)
{
	return reinterpret_cast<unsigned char *>(hash);
}

bool
LacksKey(const Key &key)
{
	int64 hash = key.hash;

	return filter != nullptr && bloom_lacks_element(filter, BytesOf(&hash), sizeof(hash));
}

static void
Forget()
{
	MemoryContextDelete(context);
	filter = nullptr;
	keys = 0;
	searches = 0;
}

void
AddKeyToFilter(const Key &key)
{
	int64 hash = key.hash;

	if (filter == nullptr || !key.present)
		return;
	bloom_add_element(filter, BytesOf(&hash), sizeof(hash));
	if (++keys > most)
		Forget();
}

// Every live job has an entry, and so have others that are gone. None is missed: what the snapshot shows is not removed from
// the index meanwhile.
static int64
ReadIndex(const pg::Table &jobs, Snapshot snapshot, bloom_filter *to)
{
	pg::Scan scan = pg::BeginScan(jobs, "pgq_job_key", snapshot, nullptr, 0);
	int64 n = 0;
	bool isnull;

	scan.desc->xs_want_itup = true; // the entries, not the rows
	scan.Restart(nullptr);
	while (index_getnext_tid(scan.desc, ForwardScanDirection) != nullptr) {
		CHECK_FOR_INTERRUPTS();
		int64 hash = DatumGetInt64(index_getattr(scan.desc->xs_itup, 1, scan.desc->xs_itupdesc, &isnull));
		bloom_add_element(to, BytesOf(&hash), sizeof(hash));
		n++;
	}
	scan.End();
	return n;
}

static int64
PagesOf(const pg::Table &jobs)
{
	return RelationGetNumberOfBlocks(pg::IndexNamed(jobs, "pgq_job_key"));
}

// How many keys the filter is to be made for: some more than there can be entries now.
static int64
KeysFor(int64 pages)
{
	constexpr int64 kEntryBytes = sizeof(IndexTupleData) + 2 * sizeof(int64) + sizeof(ItemIdData);

	return Max(kFewestKeys, 2 * pages * (BLCKSZ / kEntryBytes));
}

bool
NeedsKeyFilter(const pg::Table &jobs)
{
	if (filter != nullptr || ++searches % kLookAgain != 0)
		return false;
	int64 pages = PagesOf(jobs);
	return searches >= kSearchesPerPage * pages && KeysFor(pages) <= kMostKeys;
}

void
MakeKeyFilter(const pg::Table &jobs, Snapshot snapshot)
{
	int64 size = KeysFor(PagesOf(jobs));
	MemoryContext made_in = AllocSetContextCreate(CurrentMemoryContext, "pgq_ext key filter", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(made_in);
	bloom_filter *made = bloom_create(size, static_cast<int>(size * kBytesPerKey / 1024), 0);

	MemoryContextSwitchTo(old);
	keys = ReadIndex(jobs, snapshot, made);
	most = size;
	MemoryContextSetParent(made_in, TopMemoryContext); // an error until here leaves nothing
	context = made_in;
	filter = made;
}

} // namespace pgq_ext::queue
