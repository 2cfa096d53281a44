// The order of commits: see commit_order.hpp.
#include "decode/commit_order.hpp"

#include "pg/try.hpp"

extern "C" {
#include "access/rmgr.h"
#include "access/xact.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "storage/procarray.h"
#include "utils/hsearch.h"
}

namespace pgq_ext::decode {

struct CommitEntry {
	TransactionId xid; // hash key
	Commit commit;
};

struct CommitOrder {
	HTAB *commits;
	uint32 last;
};

static void
AddCommit(CommitOrder *order, TransactionId xid, const Commit &commit)
{
	CommitEntry *entry = (CommitEntry *)hash_search(order->commits, &xid, HASH_ENTER, nullptr);

	entry->commit = commit;
}

static void
AddRecord(CommitOrder *order, XLogReaderState *record)
{
	uint8 info = XLogRecGetInfo(record);
	uint8 op = info & XLOG_XACT_OPMASK;
	xl_xact_parsed_commit parsed;

	if (XLogRecGetRmid(record) != RM_XACT_ID ||
		(op != XLOG_XACT_COMMIT && op != XLOG_XACT_COMMIT_PREPARED))
		return;
	ParseCommitRecord(info, (xl_xact_commit *)XLogRecGetData(record), &parsed);
	if (OidIsValid(parsed.dbId) && parsed.dbId != MyDatabaseId)
		return;
	Commit commit = {++order->last, record->ReadRecPtr, parsed.xact_time};
	AddCommit(order, op == XLOG_XACT_COMMIT ? XLogRecGetXid(record) : parsed.twophase_xid, commit);
	for (int i = 0; i < parsed.nsubxacts; i++)
		AddCommit(order, parsed.subxacts[i], commit);
}

static void
ReadRecords(CommitOrder *order, XLogRecPtr from, XLogRecPtr to)
{
	XLogReaderRoutine routine = {};
	ReadLocalXLogPageNoWaitPrivate end_of_wal = {};
	char *error = nullptr;

	routine.page_read = read_local_xlog_page_no_wait;
	routine.segment_open = wal_segment_open;
	routine.segment_close = wal_segment_close;
	XLogReaderState *reader =
		XLogReaderAllocate(wal_segment_size, nullptr, &routine, &end_of_wal);
	XLogRecPtr start = XLogFindNextRecord(reader, from);
	if (XLogRecPtrIsInvalid(start))
		elog(ERROR, "could not find WAL at %X/%X", (uint32)(from >> 32), (uint32)from);
	XLogBeginRead(reader, start);
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		XLogRecord *record = XLogReadRecord(reader, &error);
		if (error != nullptr)
			elog(ERROR, "could not read WAL: %s", error);
		if (record == nullptr || reader->ReadRecPtr >= to)
			break;
		AddRecord(order, reader);
	}
	XLogReaderFree(reader);
}

CommitOrder *
ReadCommitOrder(XLogRecPtr from, XLogRecPtr to)
{
	CommitOrder *order = (CommitOrder *)palloc0(sizeof(CommitOrder));
	HASHCTL ctl = {};

	ctl.keysize = sizeof(TransactionId);
	ctl.entrysize = sizeof(CommitEntry);
	ctl.hcxt = CurrentMemoryContext;
	order->commits =
		hash_create("pgq_ext commits", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	// Whatever goes wrong here means that the WAL can't be read, and the caller has to do without.
	ErrorData *error = pg::Try([&]() { ReadRecords(order, from, to); });
	return error == nullptr ? order : nullptr;
}

const Commit *
FindCommit(const CommitOrder *order, TransactionId xid)
{
	CommitEntry *entry = (CommitEntry *)hash_search(order->commits, &xid, HASH_FIND, nullptr);

	return entry != nullptr ? &entry->commit : nullptr;
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
