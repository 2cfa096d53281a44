// A histogram of microseconds with logarithmic buckets: eight to each power of two, so a value is
// known to 12.5 %. Pure: counts are the caller's.
#pragma once

#include <stdint.h>

namespace pgq_ext::process {

// Covers 2^34 microseconds (almost five hours); what is longer counts as that.
constexpr int kLatencyBuckets = 256;

// Buckets 0..7 hold one value each; from there on, bucket (e - 2) * 8 + s holds the values whose
// highest bit is e and whose next three bits are s.
inline int
LatencyBucket(uint64_t microseconds)
{
	if (microseconds < 8)
		return (int)microseconds;
	int exponent = 63 - __builtin_clzll(microseconds);
	int bucket = (exponent - 2) * 8 + (int)((microseconds >> (exponent - 3)) & 7);
	return bucket < kLatencyBuckets ? bucket : kLatencyBuckets - 1;
}

// The largest value that the bucket holds (the last one holds larger ones too).
inline uint64_t
LatencyBucketLimit(int bucket)
{
	if (bucket < 8)
		return (uint64_t)bucket;
	int exponent = bucket / 8 + 2;
	return ((uint64_t)(bucket % 8 + 9) << (exponent - 3)) - 1;
}

// The value that the fraction (0..1) of what was counted doesn't exceed, to the precision of a
// bucket; 0 for none.
inline uint64_t
LatencyQuantile(const uint64_t *counts, double fraction)
{
	uint64_t total = 0;
	for (int i = 0; i < kLatencyBuckets; i++)
		total += counts[i];

	uint64_t seen = 0;
	for (int i = 0; i < kLatencyBuckets; i++) {
		seen += counts[i];
		if (counts[i] > 0 && (double)seen >= fraction * (double)total)
			return LatencyBucketLimit(i);
	}
	return 0;
}

} // namespace pgq_ext::process
