// Which databases there are for the launcher: see databases.hpp. Reads shared catalogs only.
#include "process/databases.hpp"

#include "process/cluster.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_database.h"
}

namespace pgq_ext::process {

static List *known;    // connectable databases, as last seen
static List *unprobed; // of those, the ones that nobody has looked into

static List *
ConnectableDatabases(MemoryContext context)
{
	List *databases = NIL;
	Relation relation = table_open(DatabaseRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(relation, 0, nullptr);

	while (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection)) {
		Form_pg_database row = (Form_pg_database)GETSTRUCT(tuple);
		if (!row->datallowconn || row->datistemplate || database_is_invalid_form(row))
			continue;
		MemoryContext old = MemoryContextSwitchTo(context);
		databases = lappend_oid(databases, row->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	return databases;
}

// The members of databases that are new, or were waiting already.
static List *
Waiting(List *databases)
{
	List *waiting = NIL;
	ListCell *lc;

	foreach (lc, databases)
		if (!list_member_oid(known, lfirst_oid(lc)) || list_member_oid(unprobed, lfirst_oid(lc)))
			waiting = lappend_oid(waiting, lfirst_oid(lc));
	return waiting;
}

// The enqueuer of a database that became a template or closed leaves, and its slot stays: opened
// again, the database goes on where it was.
static void
LeaveOthers()
{
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	for (Database &db : cluster->databases) {
		if (!OidIsValid(db.database) || list_member_oid(known, db.database))
			continue;
		if (db.pid != 0)
			kill(db.pid, SIGTERM);
		else
			FreeEntry(&db);
	}
	LWLockRelease(cluster->lock);
}

void
LookAtDatabases()
{
	StartTransactionCommand();
	List *databases = ConnectableDatabases(TopMemoryContext);
	CommitTransactionCommand();

	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	List *waiting = Waiting(databases);
	MemoryContextSwitchTo(old);
	list_free(unprobed);
	list_free(known);
	unprobed = waiting;
	known = databases;
	LeaveOthers();
}

Oid
NextUnprobed()
{
	if (unprobed == NIL)
		return InvalidOid;
	Oid database = linitial_oid(unprobed);
	unprobed = list_delete_first(unprobed);
	return database;
}

bool
AnyUnprobed()
{
	return unprobed != NIL;
}

} // namespace pgq_ext::process
