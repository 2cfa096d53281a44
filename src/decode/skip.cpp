// Skipping records of our own tables: see skip.hpp.
#include "decode/skip.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/heapam_xlog.h"
#include "access/rmgr.h"
#include "access/table.h"
#include "access/xlogrecord.h"
#include "replication/decode.h"
#include "replication/reorderbuffer.h"
#include "replication/snapbuild.h"
}

namespace pgq_ext::decode {

// At most this many files are skipped; any beyond are decoded.
constexpr int kMaxSkipped = 32;

static pg::RelFileLocator skipped[kMaxSkipped];
static int nskipped;

static void
SkipRelation(Oid relid)
{
	Relation relation = try_relation_open(relid, AccessShareLock);

	if (relation == nullptr)
		return;
	if (nskipped < kMaxSkipped)
		skipped[nskipped++] = pg::RelationLocator(relation);
	Oid toast = relation->rd_rel->reltoastrelid;
	relation_close(relation, AccessShareLock);
	if (OidIsValid(toast))
		SkipRelation(toast);
}

void
SetSkipped(const Oid *relids, int n)
{
	nskipped = 0;
	for (int i = 0; i < n; i++)
		SkipRelation(relids[i]);
}

static bool
IsSkipped(const pg::RelFileLocator &file)
{
	for (int i = 0; i < nskipped; i++)
		if (RelFileNodeEquals(skipped[i], file))
			return true;
	return false;
}

// Whether the record adds, changes or removes rows. CONFIRM must go with its speculative insert, or the reorder buffer
// finds a confirmation without one.
static bool
ChangesRows(XLogReaderState *record)
{
	uint8 op = XLogRecGetInfo(record) & XLOG_HEAP_OPMASK;

	if (XLogRecGetRmid(record) == RM_HEAP2_ID)
		return op == XLOG_HEAP2_MULTI_INSERT;
	return XLogRecGetRmid(record) == RM_HEAP_ID &&
		   (op == XLOG_HEAP_INSERT || op == XLOG_HEAP_DELETE || op == XLOG_HEAP_UPDATE || op == XLOG_HEAP_HOT_UPDATE ||
			op == XLOG_HEAP_CONFIRM);
}

bool
SkipRecord(LogicalDecodingContext *ctx, Collector *collector)
{
	XLogReaderState *record = ctx->reader;
	pg::RelFileLocator file;

	if (!ChangesRows(record))
		return false;
	if (IsMoveRecord(record))
		NoteMove(Moves(collector), record->ReadRecPtr);
	if (SnapBuildCurrentState(ctx->snapshot_builder) != SNAPBUILD_CONSISTENT ||
		!XLogRecGetBlockTagExtended(record, 0, &file, nullptr, nullptr, nullptr) || !IsSkipped(file))
		return false;

	// What decoding does with any record of a transaction: subtransactions must keep their parents, and snapshots of
	// transactions that also change the catalog must keep their order.
	TransactionId xid = XLogRecGetXid(record);
	TransactionId top = XLogRecGetTopXid(record);
	if (TransactionIdIsValid(top))
		ReorderBufferAssignChild(ctx->reorder, top, xid, record->ReadRecPtr);
	ReorderBufferProcessXid(ctx->reorder, xid, record->ReadRecPtr);
	SnapBuildProcessChange(ctx->snapshot_builder, xid, record->ReadRecPtr);
	return true;
}

} // namespace pgq_ext::decode
