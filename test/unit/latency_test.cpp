// Unit test of the latency histogram; prints TAP.
#include "process/latency.hpp"

#include <stdio.h>

using namespace pgq_ext::process;

static int tests;

static void
Ok(bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
}

static bool
EveryValueIsInItsBucket()
{
	for (uint64_t value = 0; value < ((uint64_t)1 << 34); value += 1 + value / 1000) {
		int bucket = LatencyBucket(value);
		uint64_t below = bucket == 0 ? 0 : LatencyBucketLimit(bucket - 1) + 1;
		if (value < below || value > LatencyBucketLimit(bucket))
			return false;
	}
	return true;
}

static bool
LimitsArePrecise()
{
	for (int bucket = 9; bucket < kLatencyBuckets; bucket++) {
		double below = (double)LatencyBucketLimit(bucket - 1) + 1;
		if ((double)LatencyBucketLimit(bucket) > below * 1.125)
			return false;
	}
	return true;
}

int
main()
{
	uint64_t counts[kLatencyBuckets] = {};

	Ok(EveryValueIsInItsBucket(), "every value lies in its bucket");
	Ok(LimitsArePrecise(), "no bucket is wider than an eighth of its values");
	Ok(LatencyBucket(UINT64_MAX) == kLatencyBuckets - 1, "the last bucket takes all larger values");
	Ok(LatencyQuantile(counts, 0.5) == 0, "nothing counted gives 0");

	for (uint64_t i = 1; i <= 100; i++)
		counts[LatencyBucket(i * 100)]++;
	uint64_t p50 = LatencyQuantile(counts, 0.5), p99 = LatencyQuantile(counts, 0.99);
	Ok(p50 >= 5000 && p50 <= 5625, "median of 100..10000");
	Ok(p99 >= 9900 && p99 <= 11137, "99th percentile of 100..10000");
	Ok(LatencyQuantile(counts, 0) >= 100 && LatencyQuantile(counts, 0) <= 112, "fraction 0 is the smallest");
	Ok(LatencyQuantile(counts, 1) >= 10000, "fraction 1 is the largest");
	printf("1..%d\n", tests);
	return 0;
}
