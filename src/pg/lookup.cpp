// Many rows by their key: see lookup.hpp.
#include "pg/lookup.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace pgq_ext::pg {

// A walk passes over the rows in between. With so many for each that is looked for, it still takes less than searches.
constexpr uint64 kRowsPerValue = 3;

static void
SetRange(ScanKey keys, int64 first, int64 last)
{
	ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(first));
	ScanKeyInit(&keys[1], 1, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(last));
}

Lookup
BeginLookup(const Table &table, const char *index, Snapshot snapshot, int64 first, int64 last, int n)
{
	Lookup lookup = {};

	lookup.walks = static_cast<uint64>(last) - static_cast<uint64>(first) < kRowsPerValue * static_cast<uint64>(n);
	lookup.key_column = IndexNamed(table, index)->rd_index->indkey.values[0];
	SetRange(lookup.keys, first, last);
	ExecClearTuple(table.spare);
	lookup.scan = BeginScan(table, index, snapshot, lookup.keys, lengthof(lookup.keys), table.spare);
	return lookup;
}

static int64
KeyOf(const Lookup &lookup)
{
	bool isnull;

	return DatumGetInt64(Get(lookup.scan.row, lookup.key_column, &isnull));
}

// Steps to the first row whose key is not less than value; false when there is none.
static bool
WalkTo(Lookup *lookup, int64 value)
{
	while (!lookup->ended && (TTS_EMPTY(lookup->scan.row) || KeyOf(*lookup) < value))
		lookup->ended = !lookup->scan.Next();
	return !lookup->ended;
}

bool
Lookup::Find(const Table &table, int64 value)
{
	bool found;

	if (walks)
		found = WalkTo(this, value) && KeyOf(*this) == value;
	else {
		SetRange(keys, value, value);
		scan.Restart(keys);
		found = scan.Next();
	}
	if (found)
		ExecCopySlot(table.row, scan.row);
	return found;
}

void
Lookup::End()
{
	scan.End();
	ExecClearTuple(scan.row);
}

} // namespace pgq_ext::pg
