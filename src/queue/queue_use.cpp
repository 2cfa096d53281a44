// The enqueuer's use of queues: see queue_use.hpp.
#include "queue/queue_use.hpp"

#include "pg/table.hpp"
#include "queue/queue_settings.hpp"

extern "C" {
#include "common/hashfn.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
}

namespace pgq_ext::queue {

// Names share locks: in one batch there may be more queues than the server has room for locks.
constexpr uint32 kUseLocks = 1024;

static LOCKTAG
UseOf(Oid queues, const char *queue)
{
	LOCKTAG tag;
	uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(queue), static_cast<int>(strlen(queue)));

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, queues, hash % kUseLocks, 1);
	return tag;
}

// Whether the version is retired, or a transaction in progress is about to retire it.
static bool
IsRetiring(Oid schema, const decode::Handler *handler)
{
	pg::Table table = pg::Open(schema, "pgq_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	bool current = false;

	if (pg::FindByInt64(table, "pgq_handler_pkey", snapshot, handler->id)) {
		(void)pg::Get(table.row, SPI_fnumber(RelationGetDescr(table.relation), "retired_xid"), &current);
		current = current && pg::StandingOf(table, &table.row->tts_tid) == pg::Standing::Current;
	}
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
	return !current;
}

// The lock comes before the look. Without it somebody is dropping a queue, but not this one while it has handlers.
void
UseQueue(Oid schema, const decode::Handler *handler)
{
	LOCKTAG use = UseOf(pg::RelationNamed(schema, "pgq_queue"), handler->queue);
	bool used = LockAcquire(&use, AccessShareLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
	Snapshot snapshot = pg::FreshSnapshot();

	(void)RequireQueue(schema, snapshot, CStringGetTextDatum(handler->queue));
	UnregisterSnapshot(snapshot);
	if (!used && IsRetiring(schema, handler))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE), errmsg("queue \"%s\" is being dropped", handler->queue)));
}

void
AwaitUsers(Oid queues, const char *queue)
{
	LOCKTAG use = UseOf(queues, queue);

	(void)LockAcquire(&use, AccessExclusiveLock, false, false);
}

} // namespace pgq_ext::queue
