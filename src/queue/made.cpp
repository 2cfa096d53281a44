// What has been made of a large transaction: see made.hpp.
#include "queue/made.hpp"

#include "pg/hash.hpp"
#include "queue/job.hpp"

extern "C" {
#include "common/hashfn.h"
#include "utils/pg_lsn.h"
}

namespace pgq_ext::queue {

// By a hash of all values: two that differ share it about never, and then one event of a slot lost in the middle of a
// large transaction has no job.
struct MadeEntry {
	uint64 hash; // hash key
	int64 n;
};

struct Made {
	HTAB *entries;
};

// The hash of a text or jsonb, which 0 stands for no value of.
static uint64
HashValue(Datum value, uint64 seed)
{
	if (value == (Datum)0)
		return hash_combine64(seed, 1);
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint64 hash = hash_bytes_extended((const unsigned char *)VARDATA_ANY(bytes), (int)VARSIZE_ANY_EXHDR(bytes), seed);

	if ((Pointer)bytes != DatumGetPointer(value))
		pfree(bytes);
	return hash;
}

static uint64
HashJob(Datum handler, Datum key, int32 priority, Datum args)
{
	return HashValue(args, HashValue(key, HashValue(handler, (uint64)(uint32)priority)));
}

static uint64
HashError(int64 handler_id, Datum event)
{
	return HashValue(event, ~(uint64)handler_id);
}

static void
Add(Made *made, uint64 hash)
{
	bool found;
	auto *entry = (MadeEntry *)hash_search(made->entries, &hash, HASH_ENTER, &found);

	entry->n = found ? entry->n + 1 : 1;
}

static bool
Take(Made *made, uint64 hash)
{
	auto *entry = (MadeEntry *)hash_search(made->entries, &hash, HASH_FIND, nullptr);

	if (entry == nullptr || entry->n == 0)
		return false;
	entry->n--;
	return true;
}

// Visits all rows of a table.
template <typename Body>
static void
ForEachRow(Oid schema, const char *name, const Body &body)
{
	pg::Table table = pg::Open(schema, name);
	Snapshot snapshot = pg::FreshSnapshot();
	TableScanDesc scan = table_beginscan(table.relation, snapshot, 0, nullptr);

	while (table_scan_getnextslot(scan, ForwardScanDirection, table.row)) {
		CHECK_FOR_INTERRUPTS();
		body(table.row);
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

static Datum
Value(TupleTableSlot *row, int column)
{
	bool isnull;
	Datum value = pg::Get(row, column, &isnull);

	return isnull ? (Datum)0 : value;
}

// Its jobs are known by the time of its commit, which stays with them: a retry gives another position. One of another
// transaction of the same moment does no harm unless everything else is the same, too.
static bool
IsOf(const LargeTransaction &large, Datum created_at)
{
	return DatumGetTimestampTz(created_at) == large.committed_at;
}

// Where a table of jobs has what is compared.
struct JobColumns {
	int created_at, handler, key, priority, args;
};

static void
ReadJobs(Made *made, Oid schema, const LargeTransaction &large, const char *table, const JobColumns &columns)
{
	ForEachRow(schema, table, [&](TupleTableSlot *row) {
		if (IsOf(large, Value(row, columns.created_at)))
			Add(made, HashJob(Value(row, columns.handler), Value(row, columns.key),
							  DatumGetInt32(Value(row, columns.priority)), Value(row, columns.args)));
	});
}

static void
ReadErrors(Made *made, Oid schema, const LargeTransaction &large)
{
	using namespace error_column;

	ForEachRow(schema, "pgq_event_error", [&](TupleTableSlot *row) {
		if (DatumGetLSN(Value(row, kLsn)) == large.commit_lsn)
			Add(made, HashError(DatumGetInt64(Value(row, kHandlerId)), Value(row, kEvent)));
	});
}

Made *
ReadMade(Oid schema, const LargeTransaction &large)
{
	Made *made = (Made *)palloc0(sizeof(Made));

	made->entries = pg::NewHash<uint64, MadeEntry>(CurrentMemoryContext, "pgq_ext what was made", 1024);
	ReadJobs(made, schema, large, "pgq_job",
			 {column::kCreatedAt, column::kHandler, column::kKey, column::kPriority, column::kArgs});
	ReadJobs(made, schema, large, "pgq_archive",
			 {archive_column::kCreatedAt, archive_column::kHandler, archive_column::kKey, archive_column::kPriority,
			  archive_column::kArgs});
	ReadErrors(made, schema, large);
	return made;
}

bool
TakeJob(Made *made, Datum handler, Datum key, int32 priority, Datum args)
{
	return Take(made, HashJob(handler, key, priority, args));
}

bool
TakeError(Made *made, int64 handler_id, Datum event)
{
	return Take(made, HashError(handler_id, event));
}

} // namespace pgq_ext::queue
