// The replication slot of one database's enqueuer: made, checked, taken, confirmed, dropped.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "replication/logical.h"
}

namespace pgq_ext::decode {

// The slot's name in this database: pgq_ext_<oid>.
void SlotName(char *name);

enum class SlotStatus {
	Usable,
	Missing,
	Lost, // invalidated: the WAL it needs is gone
};

// Takes the slot for this process when it exists, waiting a moment for a predecessor that is still exiting.
// When it is Usable the process holds it, and confirmed is its confirmed position.
SlotStatus AcquireSlot(XLogRecPtr *confirmed);

// Makes the slot and waits until the transactions running now have ended; returns the position from which on it decodes.
// Ephemeral until PersistSlot: an error or a crash before leaves nothing behind. Needs a transaction without an xid.
XLogRecPtr CreateSlot();
void PersistSlot();

// Tells the slot that everything before lsn has become durable jobs: the server may let go of older WAL.
void ConfirmSlot(XLogRecPtr lsn);

// Whether confirming position would let the server let go of older WAL, of which it now keeps a segment or more.
bool SlotCouldMove(XLogRecPtr position);

// Drops the slot, if there is one; gives it back first when this process holds it.
void DropSlot();

// Lets this process use our output plugin whatever output_plugin_libraries says for others.
void AllowOutputPlugin();

} // namespace pgq_ext::decode
