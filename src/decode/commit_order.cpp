// The order of commits: see commit_order.hpp.
#include "decode/commit_order.hpp"

#include "decode/open_xids.hpp"
#include "decode/wal_records.hpp"
#include "pg/hash.hpp"

extern "C" {
#include "access/rmgr.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"
}

namespace pgq_ext::decode {

struct CommitEntry {
	TransactionId xid; // hash key
	Commit commit;
};

struct CommitOrder {
	HTAB *commits;
	uint32 last;

	// By xid: commits are those that the slot will bring.
	const OpenXids *converted; // nullptr: in the order of commits
	Snapshot snapshot;
	TransactionId first;
	XLogRecPtr to;
};

static void
AddCommit(CommitOrder *order, TransactionId xid, const Commit &commit)
{
	CommitEntry *entry = (CommitEntry *)hash_search(order->commits, &xid, HASH_ENTER, nullptr);

	entry->commit = commit;
}

static void
AddRecord(void *argument, XLogReaderState *record)
{
	CommitOrder *order = (CommitOrder *)argument;
	uint8 info = XLogRecGetInfo(record);
	uint8 op = info & XLOG_XACT_OPMASK;
	xl_xact_parsed_commit parsed;

	if (XLogRecGetRmid(record) != RM_XACT_ID || (op != XLOG_XACT_COMMIT && op != XLOG_XACT_COMMIT_PREPARED))
		return;
	ParseCommitRecord(info, (xl_xact_commit *)XLogRecGetData(record), &parsed);
	if (OidIsValid(parsed.dbId) && parsed.dbId != MyDatabaseId)
		return;
	Commit commit = {++order->last, record->ReadRecPtr, parsed.xact_time};
	AddCommit(order, op == XLOG_XACT_COMMIT ? XLogRecGetXid(record) : parsed.twophase_xid, commit);
	for (int i = 0; i < parsed.nsubxacts; i++)
		AddCommit(order, parsed.subxacts[i], commit);
}

CommitOrder *
ReadCommitOrder(XLogRecPtr from, XLogRecPtr to)
{
	CommitOrder *order = (CommitOrder *)palloc0(sizeof(CommitOrder));

	order->commits = pg::NewHash<TransactionId, CommitEntry>(CurrentMemoryContext, "pgq_ext commits", 1024);
	return VisitWal(from, to, AddRecord, order) ? order : nullptr;
}

CommitOrder *
CommitsByXid(const char *converted, Snapshot snapshot, XLogRecPtr to)
{
	uint64 first = strtou64(converted, nullptr, 10);
	// What has ended in the snapshot has its commit before this.
	XLogRecPtr end = GetXLogInsertRecPtr();

	if (U64FromFullTransactionId(ReadNextFullTransactionId()) - first >= PG_INT32_MAX)
		return nullptr;
	XLogFlush(end);
	CommitOrder *order = ReadCommitOrder(to, end);
	if (order == nullptr)
		return nullptr;
	order->converted = NewOpenXids(InvalidXLogRecPtr, converted);
	order->snapshot = snapshot;
	order->first = (TransactionId)first;
	order->to = to;
	return order;
}

static bool
FindByXid(const CommitOrder *order, TransactionId xid, Commit *commit)
{
	// An xid that was in use long before is not between the two.
	if (!TransactionIdIsNormal(xid) || xid - order->first >= order->snapshot->xmax - order->first ||
		HasEnded(order->converted, xid) || XidInMVCCSnapshot(xid, order->snapshot) ||
		hash_search(order->commits, &xid, HASH_FIND, nullptr) != nullptr)
		return false;
	*commit = {xid - order->first + 1, order->to, 0};
	return true;
}

bool
FindCommit(const CommitOrder *order, TransactionId xid, Commit *commit)
{
	if (order->converted != nullptr)
		return FindByXid(order, xid, commit);
	CommitEntry *entry = (CommitEntry *)hash_search(order->commits, &xid, HASH_FIND, nullptr);

	if (entry != nullptr)
		*commit = entry->commit;
	return entry != nullptr;
}

void
WaitUntilVisible(const CommitOrder *order)
{
	HASH_SEQ_STATUS status;
	CommitEntry *entry;

	hash_seq_init(&status, order->commits);
	while ((entry = (CommitEntry *)hash_seq_search(&status)) != nullptr)
		if (TransactionIdIsInProgress(entry->xid))
			XactLockTableWait(entry->xid, nullptr, nullptr, XLTW_None);
}

} // namespace pgq_ext::decode
