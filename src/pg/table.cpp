// One of our tables: see table.hpp.
#include "pg/table.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "utils/fmgroids.h"
}

namespace pgq_ext::pg {

Oid
RelationNamed(Oid schema, const char *name)
{
	Oid relid = get_relname_relid(name, schema);

	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation \"%s\" of extension \"pgq_ext\" does not exist", name)));
	return relid;
}

Table
Open(Oid schema, const char *name)
{
	Table table;

	table.relation = table_open(RelationNamed(schema, name), RowExclusiveLock);
	table.estate = CreateExecutorState();
	table.info = makeNode(ResultRelInfo);
	InitResultRelInfo(table.info, table.relation, 0, nullptr, 0); // range table index 0: there is none
	ExecOpenIndices(table.info, false);
	table.row = table_slot_create(table.relation, nullptr);
	table.spare = table_slot_create(table.relation, nullptr);
	table.changed = MakeSingleTupleTableSlot(RelationGetDescr(table.relation), &TTSOpsVirtual);
	return table;
}

void
Close(Table *table)
{
	ExecDropSingleTupleTableSlot(table->row);
	ExecDropSingleTupleTableSlot(table->spare);
	ExecDropSingleTupleTableSlot(table->changed);
	ExecCloseIndices(table->info);
	FreeExecutorState(table->estate);
	table_close(table->relation, NoLock);
}

Relation
IndexNamed(const Table &table, const char *name)
{
	for (int i = 0; i < table.info->ri_NumIndices; i++) {
		Relation index = table.info->ri_IndexRelationDescs[i];
		if (strcmp(RelationGetRelationName(index), name) == 0 && index->rd_index->indisvalid)
			return index;
	}
	elog(ERROR, "table \"%s\" has no valid index \"%s\"", RelationGetRelationName(table.relation), name);
}

Snapshot
FreshSnapshot()
{
	CommandCounterIncrement();
	return RegisterSnapshot(GetLatestSnapshot());
}

void
Scan::Restart(ScanKey keys)
{
	index_rescan(desc, keys, desc->numberOfKeys, nullptr, 0);
}

Scan
BeginScan(const Table &table, const char *index, Snapshot snapshot, ScanKey keys, int nkeys, TupleTableSlot *slot)
{
	Scan scan;

	scan.desc = index_beginscan(table.relation, IndexNamed(table, index), snapshot, nkeys, 0);
	scan.row = slot != nullptr ? slot : table.row;
	scan.Restart(keys);
	return scan;
}

bool
Scan::Next(ScanDirection direction)
{
	CHECK_FOR_INTERRUPTS();
	return index_getnext_slot(desc, direction, row);
}

void
Scan::End()
{
	index_endscan(desc);
}

bool
FindByInt64(const Table &table, const char *index, Snapshot snapshot, int64 value)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(value));
	Scan scan = BeginScan(table, index, snapshot, &key, 1);
	bool found = scan.Next();
	if (found)
		ExecMaterializeSlot(table.row);
	scan.End();
	return found;
}

static Outcome
OutcomeOf(TM_Result result)
{
	switch (result) {
	case TM_Ok:
		return Outcome::Done;
	case TM_BeingModified:
	case TM_WouldBlock:
		return Outcome::Busy;
	case TM_Updated:
	case TM_Deleted:
	case TM_SelfModified:
		return Outcome::Changed;
	case TM_Invisible:
		break;
	}
	elog(ERROR, "unexpected result %d of changing a row", (int)result);
}

static Outcome
LockInto(const Table &table, TupleTableSlot *slot, ItemPointer tid, Snapshot snapshot, LockTupleMode mode, Wait wait,
		 Version version)
{
	TM_FailureData failure;
	LockWaitPolicy policy = wait == Wait::Yes ? LockWaitBlock : LockWaitSkip;
	uint8 flags = version == Version::Newest ? TUPLE_LOCK_FLAG_FIND_LAST_VERSION : 0;

	if (wait == Wait::Yes) // it may take locks on newer versions, which may have to be waited for
		flags |= TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	return OutcomeOf(table_tuple_lock(table.relation, tid, snapshot, slot, GetCurrentCommandId(true), mode, policy,
									  flags, &failure));
}

Outcome
Lock(const Table &table, ItemPointer tid, Snapshot snapshot, LockTupleMode mode, Wait wait, Version version)
{
	return LockInto(table, table.row, tid, snapshot, mode, wait, version);
}

Standing
StandingOf(const Table &table, ItemPointer tid)
{
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	if (!table_tuple_fetch_row_version(table.relation, tid, &dirty, table.spare))
		return Standing::Gone;
	return TransactionIdIsValid(dirty.xmax) ? Standing::BeingChanged : Standing::Current;
}

bool
IsReplaced(TupleTableSlot *row)
{
	bool copied;
	uint16 infomask = ExecFetchSlotHeapTuple(row, false, &copied)->t_data->t_infomask;

	Assert(!copied);
	return (infomask & HEAP_XMAX_INVALID) == 0 && !HEAP_XMAX_IS_LOCKED_ONLY(infomask);
}

// What ExecInsertIndexTuples does for one index; ours have no exclusion or deferred constraints. The index is not told that an
// update leaves its keys alone: it would look for dead entries of older versions before it splits a page, which costs more
// than to split it, as the entries don't outlive the job by long.
void
InsertIndexEntry(const Table &table, int i, TupleTableSlot *slot, Replaces replaces)
{
	Relation index = table.info->ri_IndexRelationDescs[i];
	IndexInfo *info = table.info->ri_IndexRelationInfo[i];
	ExprContext *context = GetPerTupleExprContext(table.estate);
	bool unique = index->rd_index->indisunique && !(index->rd_index->indisprimary && replaces == Replaces::SameKey);
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];

	if (!info->ii_ReadyForInserts)
		return;
	if (info->ii_Predicate != NIL && info->ii_PredicateState == nullptr)
		info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, table.estate);
	context->ecxt_scantuple = slot;
	if (info->ii_PredicateState == nullptr || ExecQual(info->ii_PredicateState, context)) {
		FormIndexDatum(info, slot, table.estate, values, nulls);
		(void)index_insert(index, values, nulls, &slot->tts_tid, table.relation,
						   unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
	}
	ResetExprContext(context);
}

static void
InsertIndexEntries(const Table &table, TupleTableSlot *slot, Replaces replaces)
{
	for (int i = 0; i < table.info->ri_NumIndices; i++)
		InsertIndexEntry(table, i, slot, replaces);
}

Outcome
Update(const Table &table, ItemPointer tid, Snapshot snapshot)
{
	TM_FailureData failure;
	LockTupleMode mode;
	bool update_indexes;

	Assert(!TTS_EMPTY(table.changed));
	Outcome outcome = OutcomeOf(table_tuple_update(table.relation, tid, table.changed, GetCurrentCommandId(true),
												   snapshot, InvalidSnapshot, true, &failure, &mode, &update_indexes));
	if (outcome == Outcome::Done && update_indexes)
		InsertIndexEntries(table, table.changed, Replaces::SameKey);
	return outcome;
}

// The lock comes first, since heap_update does not allow for callers that won't wait: it takes any lock for a conflict,
// and a server with assertions stops there.
Outcome
UpdateNoWait(const Table &table, ItemPointer tid, Snapshot snapshot)
{
	Outcome outcome = LockInto(table, table.spare, tid, snapshot, LockTupleNoKeyExclusive, Wait::No, Version::This);

	return outcome == Outcome::Done ? Update(table, tid, snapshot) : outcome;
}

Outcome
Delete(const Table &table, ItemPointer tid, Snapshot snapshot, Wait wait)
{
	TM_FailureData failure;

	return OutcomeOf(table_tuple_delete(table.relation, tid, GetCurrentCommandId(true), snapshot, InvalidSnapshot,
										wait == Wait::Yes, &failure, false));
}

void
Insert(const Table &table)
{
	Assert(!TTS_EMPTY(table.changed));
	table_tuple_insert(table.relation, table.changed, GetCurrentCommandId(true), 0, nullptr);
	InsertIndexEntries(table, table.changed, Replaces::Nothing);
}

void
StartChange(const Table &table)
{
	int natts = RelationGetDescr(table.relation)->natts;

	Assert(!TTS_EMPTY(table.row));
	slot_getallattrs(table.row);
	ExecClearTuple(table.changed);
	memcpy(table.changed->tts_values, table.row->tts_values, natts * sizeof(Datum));
	memcpy(table.changed->tts_isnull, table.row->tts_isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(table.changed);
}

void
StartRow(const Table &table)
{
	int natts = RelationGetDescr(table.relation)->natts;

	ExecClearTuple(table.changed);
	memset(table.changed->tts_values, 0, natts * sizeof(Datum));
	memset(table.changed->tts_isnull, true, natts * sizeof(bool));
	ExecStoreVirtualTuple(table.changed);
}

} // namespace pgq_ext::pg
