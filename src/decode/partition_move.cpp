// Telling cross-partition UPDATEs from inserts: see partition_move.hpp.
#include "decode/partition_move.hpp"

#include "pg/hash.hpp"

extern "C" {
#include "access/heapam_xlog.h"
#include "access/rmgr.h"
#include "catalog/partition.h"
}

namespace pgq_ext::decode {

struct MoveEntry {
	XLogRecPtr lsn; // hash key
};

PartitionMoves
NewPartitionMoves()
{
	PartitionMoves moves = {};

	moves.deletes = pg::NewHash<XLogRecPtr, MoveEntry>(CurrentMemoryContext, "pgq_ext partition moves", 64);
	return moves;
}

bool
IsMoveRecord(XLogReaderState *record)
{
	return XLogRecGetRmid(record) == RM_HEAP_ID && (XLogRecGetInfo(record) & XLOG_HEAP_OPMASK) == XLOG_HEAP_DELETE &&
		   (((xl_heap_delete *)XLogRecGetData(record))->flags & XLH_DELETE_IS_PARTITION_MOVE) != 0;
}

void
NoteMove(PartitionMoves *moves, XLogRecPtr lsn)
{
	hash_search(moves->deletes, &lsn, HASH_ENTER, nullptr);
}

void
ForgetMovesBefore(PartitionMoves *moves, XLogRecPtr lsn)
{
	HASH_SEQ_STATUS status;
	MoveEntry *entry;

	hash_seq_init(&status, moves->deletes);
	while ((entry = (MoveEntry *)hash_seq_search(&status)) != nullptr)
		if (entry->lsn < lsn)
			hash_search(moves->deletes, &entry->lsn, HASH_REMOVE, nullptr);
}

static bool
TakeMove(PartitionMoves *moves, const ReorderBufferChange *change)
{
	bool found = false;

	if (change->action == REORDER_BUFFER_CHANGE_DELETE)
		hash_search(moves->deletes, &change->lsn, HASH_REMOVE, &found);
	return found;
}

// Frees what it needed: the context is that of the whole transaction.
static Oid
RootOf(Relation partition)
{
	List *ancestors = get_partition_ancestors(RelationGetRelid(partition));
	Oid root = llast_oid(ancestors);

	list_free(ancestors);
	return root;
}

bool
IsMovedRow(PartitionMoves *moves, Relation relation, const ReorderBufferChange *change)
{
	if (!relation->rd_rel->relispartition || (!OidIsValid(moves->root) && hash_get_num_entries(moves->deletes) == 0))
		return false;

	Oid root = RootOf(relation);
	if (TakeMove(moves, change)) {
		moves->root = root;
		moves->left = RelationGetRelid(relation);
		return false;
	}
	if (root != moves->root)
		return false;
	// The insert follows at once, into another partition; whatever else happens to the table means that a trigger has
	// suppressed it.
	moves->root = InvalidOid;
	return change->action == REORDER_BUFFER_CHANGE_INSERT && RelationGetRelid(relation) != moves->left;
}

} // namespace pgq_ext::decode
