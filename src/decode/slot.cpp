// The replication slot: see slot.hpp.
#include "decode/slot.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/xlogutils.h"
#include "replication/slot.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/wait_event.h"
}

namespace pgq_ext::decode {

void
SlotName(char *name)
{
	snprintf(name, NAMEDATALEN, "pgq_ext_%u", MyDatabaseId);
}

void
AllowOutputPlugin()
{
	// Minor releases before the setting came have no such check.
	if (GetConfigOption("output_plugin_libraries", true, false) != nullptr)
		SetConfigOption("output_plugin_libraries", "pgq_ext", PGC_SUSET, PGC_S_OVERRIDE);
}

static bool
SlotIsFree(ReplicationSlot *slot)
{
	SpinLockAcquire(&slot->mutex);
	bool is_free = slot->active_pid == 0;
	SpinLockRelease(&slot->mutex);
	return is_free;
}

SlotStatus
AcquireSlot(XLogRecPtr *confirmed)
{
	char name[NAMEDATALEN];

	SlotName(name);
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);
	if (slot == nullptr)
		return SlotStatus::Missing;
	// A predecessor gives the slot back only when it has exited; 2 seconds are plenty, then say who holds it.
	for (int tries = 0; tries < 200 && !SlotIsFree(slot); tries++) {
		CHECK_FOR_INTERRUPTS();
		(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	pg::AcquireReplicationSlot(name);
	*confirmed = MyReplicationSlot->data.confirmed_flush;
	if (pg::SlotIsInvalidated(MyReplicationSlot)) {
		ReplicationSlotRelease();
		return SlotStatus::Lost;
	}
	return SlotStatus::Usable;
}

XLogRecPtr
CreateSlot()
{
	char name[NAMEDATALEN];
	XLogReaderRoutine routine = {};

	routine.page_read = read_local_xlog_page;
	routine.segment_open = wal_segment_open;
	routine.segment_close = wal_segment_close;

	SlotName(name);
	CheckSlotRequirements();
	CheckLogicalDecodingRequirements();
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false);
	LogicalDecodingContext *ctx =
		CreateInitDecodingContext("pgq_ext", NIL, false, InvalidXLogRecPtr, &routine, nullptr, nullptr, nullptr);
	DecodingContextFindStartpoint(ctx);
	XLogRecPtr start = MyReplicationSlot->data.confirmed_flush;
	FreeDecodingContext(ctx);
	return start;
}

void
PersistSlot()
{
	ReplicationSlotPersist();
}

void
ConfirmSlot(XLogRecPtr lsn)
{
	// The server would go back, too.
	if (lsn > MyReplicationSlot->data.confirmed_flush)
		LogicalConfirmReceivedLocation(lsn);
}

bool
SlotCouldMove(XLogRecPtr position)
{
	ReplicationSlot *slot = MyReplicationSlot;

	SpinLockAcquire(&slot->mutex);
	XLogRecPtr valid = slot->candidate_restart_valid;
	XLogRecPtr restart = slot->data.restart_lsn;
	SpinLockRelease(&slot->mutex);
	return !XLogRecPtrIsInvalid(valid) && valid <= position && restart + wal_segment_size <= position;
}

void
DropSlot()
{
	char name[NAMEDATALEN];

	if (MyReplicationSlot != nullptr)
		ReplicationSlotRelease();
	SlotName(name);
	if (SearchNamedReplicationSlot(name, true) != nullptr)
		ReplicationSlotDrop(name, false);
}

} // namespace pgq_ext::decode
