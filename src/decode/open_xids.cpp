// Transactions that have not ended: see open_xids.hpp.
#include "decode/open_xids.hpp"

extern "C" {
#include "access/rmgr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "storage/standbydefs.h"
}

namespace pgq_ext::decode {

// A snapshot of more xids than this is not recorded: they are 20 bytes each, with each batch.
constexpr int kMaxRecorded = 1000;

// Beyond this many nothing is followed any more, until the next record of running transactions.
constexpr int kMaxOpen = 1024 * 1024;

struct OpenXids {
	MemoryContext context;
	XLogRecPtr position; // nothing before is to be noted
	bool known;
	TransactionId next;  // it and those after it have not begun, as far as the WAL says
	TransactionId *xids; // before next and not ended, in order
	int n, max;
};

static void
Add(OpenXids *open, TransactionId xid)
{
	if (open->n == open->max) {
		open->max = Max(64, open->max * 2);
		Size size = open->max * sizeof(TransactionId);
		open->xids = open->xids == nullptr ? (TransactionId *)MemoryContextAlloc(open->context, size)
										   : (TransactionId *)repalloc(open->xids, size);
	}
	open->xids[open->n++] = xid;
}

// Takes the state from the text of a snapshot; one that it can't be leaves it unknown.
static void
Restore(OpenXids *open, const char *snapshot)
{
	char *rest;

	(void)strtou64(snapshot, &rest, 10);
	if (*rest != ':')
		return;
	open->next = (TransactionId)strtou64(rest + 1, &rest, 10);
	while (*rest != 0 && rest[1] != 0)
		Add(open, (TransactionId)strtou64(rest + 1, &rest, 10));
	open->known = true;
}

OpenXids *
NewOpenXids(XLogRecPtr position, const char *recorded)
{
	OpenXids *open = (OpenXids *)palloc0(sizeof(OpenXids));

	open->context = CurrentMemoryContext;
	if (recorded != nullptr) {
		open->position = position;
		Restore(open, recorded);
	}
	return open;
}

// Everything before next has begun; what of it has not ended is open.
static void
Advance(OpenXids *open, TransactionId next)
{
	while (TransactionIdPrecedes(open->next, next) && open->known) {
		if (open->n == kMaxOpen)
			open->known = false;
		Add(open, open->next);
		TransactionIdAdvance(open->next);
	}
}

// Where xid is among the open ones, or would be.
static int
Find(const OpenXids *open, TransactionId xid)
{
	int low = 0;
	int high = open->n;

	while (low < high) {
		int middle = (low + high) / 2;
		if (TransactionIdPrecedes(open->xids[middle], xid))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
End(OpenXids *open, TransactionId xid)
{
	TransactionId behind = xid;

	if (!open->known || !TransactionIdIsNormal(xid))
		return;
	TransactionIdAdvance(behind);
	Advance(open, behind);
	int i = Find(open, xid);
	if (i < open->n && open->xids[i] == xid)
		memmove(open->xids + i, open->xids + i + 1, (--open->n - i) * sizeof(TransactionId));
}

static void
EndAll(OpenXids *open, TransactionId xid, const TransactionId *children, int nchildren)
{
	End(open, xid);
	for (int i = 0; i < nchildren; i++)
		End(open, children[i]);
}

static int
CompareXids(const void *a, const void *b)
{
	TransactionId x = *(const TransactionId *)a;
	TransactionId y = *(const TransactionId *)b;

	return x == y ? 0 : TransactionIdPrecedes(x, y) ? -1 : 1;
}

// What is not in the record has ended, also without a record of its own: by a crash, or without ever having written. What
// is in the record and not open has: its commit is in the WAL already. An overflow means that subtransactions are missing.
static void
Reconcile(OpenXids *open, const xl_running_xacts *running)
{
	if (!open->known) {
		open->known = true;
		open->n = 0;
		open->next = running->oldestRunningXid;
	}
	Advance(open, running->nextXid);

	int nrunning = running->xcnt + running->subxcnt;
	auto *xids = (TransactionId *)palloc(Max(1, nrunning) * sizeof(TransactionId));
	memcpy(xids, running->xids, nrunning * sizeof(TransactionId));
	qsort(xids, nrunning, sizeof(TransactionId), CompareXids);
	int kept = 0;
	for (int i = 0; i < open->n; i++) {
		TransactionId xid = open->xids[i];
		bool ended = running->subxid_overflow
						 ? TransactionIdPrecedes(xid, running->oldestRunningXid)
						 : bsearch(&xid, xids, nrunning, sizeof(TransactionId), CompareXids) == nullptr;
		if (!ended || !TransactionIdPrecedes(xid, running->nextXid))
			open->xids[kept++] = xid;
	}
	open->n = kept;
	pfree(xids);
}

static void
NoteEnd(OpenXids *open, XLogReaderState *record)
{
	uint8 info = XLogRecGetInfo(record);
	uint8 op = info & XLOG_XACT_OPMASK;

	if (op == XLOG_XACT_COMMIT || op == XLOG_XACT_COMMIT_PREPARED) {
		xl_xact_parsed_commit parsed;
		ParseCommitRecord(info, (xl_xact_commit *)XLogRecGetData(record), &parsed);
		EndAll(open, op == XLOG_XACT_COMMIT ? XLogRecGetXid(record) : parsed.twophase_xid, parsed.subxacts,
			   parsed.nsubxacts);
	} else if (op == XLOG_XACT_ABORT || op == XLOG_XACT_ABORT_PREPARED) {
		xl_xact_parsed_abort parsed;
		ParseAbortRecord(info, (xl_xact_abort *)XLogRecGetData(record), &parsed);
		EndAll(open, op == XLOG_XACT_ABORT ? XLogRecGetXid(record) : parsed.twophase_xid, parsed.subxacts,
			   parsed.nsubxacts);
	}
}

void
NoteRecord(OpenXids *open, XLogReaderState *record)
{
	if (record->EndRecPtr <= open->position)
		return;
	if (XLogRecGetRmid(record) == RM_XACT_ID)
		NoteEnd(open, record);
	else if (XLogRecGetRmid(record) == RM_STANDBY_ID && (XLogRecGetInfo(record) & ~XLR_INFO_MASK) == XLOG_RUNNING_XACTS)
		Reconcile(open, (xl_running_xacts *)XLogRecGetData(record));
}

bool
HasEnded(const OpenXids *open, TransactionId xid)
{
	int i = Find(open, xid);

	return TransactionIdPrecedes(xid, open->next) && (i == open->n || open->xids[i] != xid);
}

// With its epoch: an xid of the WAL is at most 2^31 before the next one.
static uint64
Full(TransactionId xid, FullTransactionId next)
{
	uint64 epoch = EpochFromFullTransactionId(next);

	return ((xid > XidFromFullTransactionId(next) ? epoch - 1 : epoch) << 32) | xid;
}

static char *
TextOf(const OpenXids *open)
{
	StringInfoData text;
	FullTransactionId next = ReadNextFullTransactionId();
	uint64 xmax = Full(open->next, next);
	initStringInfo(&text);
	appendStringInfo(&text, UINT64_FORMAT ":" UINT64_FORMAT ":", open->n > 0 ? Full(open->xids[0], next) : xmax, xmax);
	for (int i = 0; i < open->n; i++)
		appendStringInfo(&text, "%s" UINT64_FORMAT, i > 0 ? "," : "", Full(open->xids[i], next));
	return text.data;
}

char *
SnapshotOf(const OpenXids *open)
{
	return open->known && open->n <= kMaxRecorded ? TextOf(open) : nullptr;
}

// Makes it open again.
static void
Reopen(OpenXids *open, TransactionId xid)
{
	int i = Find(open, xid);

	if (i < open->n && open->xids[i] == xid)
		return;
	Add(open, xid);
	memmove(open->xids + i + 1, open->xids + i, (open->n - 1 - i) * sizeof(TransactionId));
	open->xids[i] = xid;
}

char *
WithOpen(const char *snapshot, const TransactionId *xids, int nxids)
{
	OpenXids *open = NewOpenXids(InvalidXLogRecPtr, snapshot);

	for (int i = 0; i < nxids; i++)
		Reopen(open, xids[i]);
	return TextOf(open);
}

} // namespace pgq_ext::decode
