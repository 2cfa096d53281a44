// One of our tables, read and written by known access paths.
//
// A queue table's statistics are always wrong, so no planner is asked: rows are found through a
// named index and changed with the table access method, as ExecSimpleRelationUpdate in
// execReplication.c does for apply workers. Triggers and rules are not run and privileges are not
// checked: who may call is decided by EXECUTE on our functions.
//
// Everything here lives in the memory context current at Open and is released by transaction abort
// like any relation, so none of these types has a destructor.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::pg {

struct Table {
	Relation relation;
	ResultRelInfo *info;
	EState *estate;
	TupleTableSlot *row;     // what Scan::Next and Lock found last
	TupleTableSlot *spare;   // for a second look while row is in use
	TupleTableSlot *changed; // scratch for the row to write
};

// Opens schema.name with its indexes for writing, in RowExclusiveLock. undefined_table (42P01) when
// it is missing.
Table Open(Oid schema, const char *name);

// Closes the table; its lock stays until the transaction ends.
void Close(Table *table);

// The opened index of that name; internal error when there is none, or one in which rows may be missing.
Relation IndexNamed(const Table &table, const char *name);

// Oid of schema.name; undefined_table (42P01) when it is missing.
Oid RelationNamed(Oid schema, const char *name);

// What came of an attempt to change or lock a row.
enum class Outcome {
	Done,
	Busy,    // another transaction holds it (only when told not to wait)
	Changed, // updated or deleted since the snapshot, or by this very command
};

// A snapshot of what is committed now, whatever the isolation level, plus this transaction's own
// changes up to here: it begins a new command, so that what was written before it can be seen, and
// changed again, after it. Registered; release with UnregisterSnapshot.
Snapshot FreshSnapshot();

// Rows of a table in the order of an index. Keys as for index_rescan, on leading columns of the
// index.
struct Scan {
	IndexScanDesc desc;
	TupleTableSlot *row;

	// Begins anew, with as many keys as before.
	void Restart(ScanKey keys);
	// Steps to the next row visible in the snapshot; false at the end. The row stays in row until
	// the next step.
	bool Next(ScanDirection direction = ForwardScanDirection);
	void End();
};
// slot: where the rows go; nullptr for table.row.
Scan BeginScan(const Table &table, const char *index, Snapshot snapshot, ScanKey keys, int nkeys,
			   TupleTableSlot *slot = nullptr);

// Finds the row whose index key (one column, bigint) equals value, into table.row.
bool FindByInt64(const Table &table, const char *index, Snapshot snapshot, int64 value);

enum class Wait { No, Yes };

// Which version of a row to lock: the one at the given tid or none, or whatever it has become.
enum class Version { This, Newest };

// Locks the row at tid in mode and fetches the locked version into table.row; tid becomes that
// version's. LockTupleKeyShare goes by the version at tid even when it has been replaced, or is
// just being: see StandingOf. With Wait::Yes it holds for what is replacing it, too.
Outcome Lock(const Table &table, ItemPointer tid, Snapshot snapshot, LockTupleMode mode, Wait wait,
			 Version version = Version::Newest);

enum class Standing {
	Current,      // the newest version, and nobody is changing it
	BeingChanged, // a transaction in progress (not this one) is updating or deleting it
	Gone,         // updated or deleted, by a committed transaction or this one
};

// What has become of the version at tid; locks don't count. Uses table.spare.
Standing StandingOf(const Table &table, ItemPointer tid);

// Whether somebody has updated or deleted the row that a scan has found: in a transaction that its snapshot does not show.
// True perhaps for a moment also when somebody has only locked it.
bool IsReplaced(TupleTableSlot *row);

// Replaces the row at tid by table.changed (whose tts_tid is set to the new version's), which has the same primary key, and
// maintains the indexes. Waits for who holds the row.
Outcome Update(const Table &table, ItemPointer tid, Snapshot snapshot);

// Update that never waits, of columns that are in no unique index. Uses table.spare.
Outcome UpdateNoWait(const Table &table, ItemPointer tid, Snapshot snapshot);

// Deletes the row at tid.
Outcome Delete(const Table &table, ItemPointer tid, Snapshot snapshot, Wait wait);

enum class Replaces { Nothing, SameKey };

// Adds the entry of the row in slot, which has just been stored, to the table's i-th index, if it has one there. SameKey: it
// replaces a row with the same primary key, which needn't be looked for then.
void InsertIndexEntry(const Table &table, int i, TupleTableSlot *slot, Replaces replaces);

// Inserts table.changed and maintains the indexes.
void Insert(const Table &table);

// Inserts table.changed unless a row with one of its unique keys is there; false then. Waits for transactions in progress
// that have inserted or deleted such a row. What INSERT ... ON CONFLICT DO NOTHING does, at any isolation level.
bool InsertIfNew(const Table &table);

// Copies table.row into table.changed, as a virtual row that borrows from it, for single columns to
// be set.
void StartChange(const Table &table);

// Starts an empty row in table.changed: every column NULL.
void StartRow(const Table &table);

// Column access by attribute number (from 1). The row of a read is table.row, of a write
// table.changed.
inline Datum
Get(TupleTableSlot *row, int column, bool *isnull)
{
	return slot_getattr(row, column, isnull);
}

inline void
Set(const Table &table, int column, Datum value)
{
	Assert(column >= 1 && column <= table.changed->tts_tupleDescriptor->natts);
	table.changed->tts_values[column - 1] = value;
	table.changed->tts_isnull[column - 1] = false;
}

inline void
SetNull(const Table &table, int column)
{
	table.changed->tts_values[column - 1] = (Datum)0;
	table.changed->tts_isnull[column - 1] = true;
}

} // namespace pgq_ext::pg
