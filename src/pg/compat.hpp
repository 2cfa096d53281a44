// What differs between the server's major versions: the one file that asks for PG_VERSION_NUM.
// Each shim has the newest signature; callers are written as for the newest server.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/xlogreader.h"
#include "nodes/nodeFuncs.h"
#include "catalog/pg_database.h"
#include "pgstat.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"
#include "storage/proc.h"
#include "utils/acl.h"
}

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 160000
#error "pgq_ext is built and tested with PostgreSQL 15 only"
#endif

namespace pgq_ext::pg {

// 16 renamed RelFileNode.
using RelFileLocator = RelFileNode;

// 16 added only_summarizing.
inline List *
ExecInsertIndexTuples(ResultRelInfo *info, TupleTableSlot *slot, EState *estate, bool update)
{
	return ::ExecInsertIndexTuples(info, slot, estate, update, false, nullptr, NIL);
}

// The same for a row whose insertion is speculative: a conflict is told, not raised.
inline List *
ExecInsertIndexTuplesSpeculatively(ResultRelInfo *info, TupleTableSlot *slot, EState *estate, bool *conflict)
{
	return ::ExecInsertIndexTuples(info, slot, estate, false, true, conflict, NIL);
}

// 17 made the decoded tuple a HeapTuple of its own.
inline HeapTuple
DecodedNewTuple(ReorderBufferChange *change)
{
	return change->data.tp.newtuple != nullptr ? &change->data.tp.newtuple->tuple : nullptr;
}

// 16 renamed rd_node.
inline RelFileLocator
RelationLocator(Relation relation)
{
	return relation->rd_node;
}

// 18 added error_if_invalid.
inline void
AcquireReplicationSlot(const char *name)
{
	::ReplicationSlotAcquire(name, false);
}

// 16 replaced the invalid restart_lsn by a cause.
inline bool
SlotIsInvalidated(const ReplicationSlot *slot)
{
	return XLogRecPtrIsInvalid(slot->data.restart_lsn);
}

// 16 renamed t_id.
inline Oid
TableOf(const PgStat_TableXactStatus *counts)
{
	return counts->parent->t_id;
}

// 17 replaced it by MyProcNumber.
inline int
ProcNumber()
{
	return MyProc->pgprocno;
}

// 16 made it one function for all kinds of objects.
inline bool
OwnsDatabase(Oid database, Oid role)
{
	return pg_database_ownercheck(database, role);
}

inline bool
OwnsExtension(Oid extension, Oid role)
{
	return pg_extension_ownercheck(extension, role);
}

// 16 gave the callback a prototype; the detour keeps the compiler from taking the cast for a mistake.
inline Node *
MutateExpressionTree(Node *node, Node *(*mutator)(Node *, void *), void *context)
{
	return expression_tree_mutator(node, (Node * (*)())(void (*)())mutator, context);
}

} // namespace pgq_ext::pg
