// Commands on databases that an enqueuer is in the way of: see database_hooks.hpp.
//
// Its connection and its replication slot make DROP DATABASE, CREATE DATABASE ... TEMPLATE, ALTER
// DATABASE RENAME and SET TABLESPACE fail, even with FORCE. So we take the lock on the database
// that the command takes anyway, tell the enqueuer to leave, and wait until it has. The lock is the
// hold: no session can start in the database, the launcher sees it and starts no enqueuer, and
// however the transaction ends, it is gone and the launcher woken.
#include "process/database_hooks.hpp"

#include "pg/compat.hpp"
#include "process/cluster.hpp"
#include "process/wake.hpp"
#include "queue/ready_marks.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"
}

namespace pgq_ext::process {

static ProcessUtility_hook_type next_hook;

static DefElem *
Option(List *options, const char *name)
{
	ListCell *lc;

	foreach (lc, options)
		if (strcmp(((DefElem *)lfirst(lc))->defname, name) == 0)
			return (DefElem *)lfirst(lc);
	return nullptr;
}

static bool
MayCopy(Oid database)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));

	if (!HeapTupleIsValid(tuple))
		return false;
	bool is_template = ((Form_pg_database)GETSTRUCT(tuple))->datistemplate;
	ReleaseSysCache(tuple);
	return is_template || pg::OwnsDatabase(database, GetUserId());
}

// The database that the command needs for itself, and how it locks it; nullptr when it is no such
// command.
static const char *
NeededDatabase(Node *command, LOCKMODE *mode)
{
	*mode = AccessExclusiveLock;
	switch (nodeTag(command)) {
	case T_DropdbStmt:
		return ((DropdbStmt *)command)->dbname;
	case T_RenameStmt: {
		RenameStmt *rename = (RenameStmt *)command;
		return rename->renameType == OBJECT_DATABASE ? rename->subname : nullptr;
	}
	case T_AlterDatabaseStmt: {
		AlterDatabaseStmt *alter = (AlterDatabaseStmt *)command;
		return Option(alter->options, "tablespace") != nullptr ? alter->dbname : nullptr;
	}
	case T_CreatedbStmt: {
		DefElem *name = Option(((CreatedbStmt *)command)->options, "template");
		*mode = ShareLock;
		return name != nullptr && name->arg != nullptr ? defGetString(name) : "template1";
	}
	default:
		return nullptr;
	}
}

// Whether pg_database may have databases for the launcher after it that had none before it.
static bool
ConcernsLauncher(Node *command)
{
	if (IsA(command, CreatedbStmt) || IsA(command, DropdbStmt))
		return true;
	if (!IsA(command, AlterDatabaseStmt))
		return false;
	List *options = ((AlterDatabaseStmt *)command)->options;
	return Option(options, "allow_connections") != nullptr || Option(options, "is_template") != nullptr;
}

static bool
HasEnqueuer(Oid database)
{
	LWLockAcquire(cluster->lock, LW_SHARED);
	bool has = FindEntry(database) != nullptr;
	LWLockRelease(cluster->lock);
	return has;
}

// Tells the enqueuer to leave; returns its pid, or 0 when there is none. It can't exit while we
// hold the lock.
static pid_t
SendAway(Oid database)
{
	LWLockAcquire(cluster->lock, LW_EXCLUSIVE);
	Database *db = FindEntry(database);
	pid_t pid = db != nullptr ? db->pid : 0;
	if (db != nullptr)
		db->state = State::Held;
	if (pid != 0)
		kill(pid, SIGTERM);
	LWLockRelease(cluster->lock);
	return pid;
}

// The process array is the last that an ending process leaves, after it has released its slot.
static void
AwaitExit(pid_t pid)
{
	while (pid != 0 && BackendPidGetProc(pid) != nullptr) {
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 2, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

// Makes sure that no enqueuer is in the database until the end of the transaction. Whoever may not
// run the command may not do this either: the command itself says what is wrong.
static void
Hold(const char *name, LOCKMODE mode)
{
	Oid database = get_database_oid(name, true);

	if (!OidIsValid(database) || !HasEnqueuer(database))
		return;
	bool allowed =
		mode == ShareLock ? MayCopy(database) : database != MyDatabaseId && pg::OwnsDatabase(database, GetUserId());
	if (!allowed)
		return;
	LockSharedObject(DatabaseRelationId, database, 0, mode);
	WakeLauncherAtEnd();
	AwaitExit(SendAway(database));
}

// Whether the command won't be refused at once: only renaming is allowed in a transaction block or
// a function.
static bool
CanRun(Node *command, ProcessUtilityContext context)
{
	return !RecoveryInProgress() &&
		   (IsA(command, RenameStmt) || !IsInTransactionBlock(context == PROCESS_UTILITY_TOPLEVEL));
}

static void
CallNext(PlannedStmt *statement, const char *query, bool read_only, ProcessUtilityContext context, ParamListInfo params,
		 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	ProcessUtility_hook_type next = next_hook != nullptr ? next_hook : standard_ProcessUtility;

	next(statement, query, read_only, context, params, environment, dest, completion);
}

static bool
IsTransaction(const Node *command, TransactionStmtKind kind)
{
	return IsA(command, TransactionStmt) && ((const TransactionStmt *)command)->kind == kind;
}

static void
Utility(PlannedStmt *statement, const char *query, bool read_only, ProcessUtilityContext context, ParamListInfo params,
		QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	Node *command = statement->utilityStmt;
	LOCKMODE mode;
	const char *needed = NeededDatabase(command, &mode);
	bool launcher = ConcernsLauncher(command) || needed != nullptr;
	bool committed = IsTransaction(command, TRANS_STMT_COMMIT_PREPARED);
	bool prepared = committed || IsTransaction(command, TRANS_STMT_ROLLBACK_PREPARED);

	if (needed != nullptr && CanRun(command, context))
		Hold(needed, mode);
	CallNext(statement, query, read_only, context, params, environment, dest, completion);
	// Some commands commit halfway: this is for their last transaction.
	if (launcher)
		WakeLauncherAtEnd();
	if (committed)
		WakeAfterCommitPrepared();
	if (prepared)
		queue::DistrustReadyMarks();
}

void
RegisterDatabaseHooks()
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = Utility;
}

} // namespace pgq_ext::process
