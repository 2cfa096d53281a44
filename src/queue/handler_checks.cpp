// What a handler may be defined with: see handler_checks.hpp.
#include "queue/handler_checks.hpp"

#include "pg/table.hpp"

extern "C" {
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/rls.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

void
CheckName(const char *handler)
{
	size_t length = strlen(handler);

	if (length == 0 || length > 255)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"handler\" must have 1 to 255 bytes")));
}

void
LockQueue(Oid schema, const char *queue)
{
	pg::Table table = pg::Open(schema, "pgq_queue");
	Snapshot snapshot = pg::FreshSnapshot();
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(queue));
	pg::Scan scan = pg::BeginScan(table, "pgq_queue_pkey", snapshot, &key, 1);
	bool found = scan.Next();
	ItemPointerData tid = table.row->tts_tid;
	scan.End();
	if (!found || pg::Lock(table, &tid, snapshot, LockTupleKeyShare, pg::Wait::Yes) != pg::Outcome::Done)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", queue)));
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

void
CheckReadable(Oid source, Oid owner)
{
	if (pg_class_aclcheck(source, owner, ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(source));
	if (check_enable_rls(source, owner, true) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("row-level security of table \"%s\" applies to role \"%s\"", get_rel_name(source),
							   GetUserNameFromId(owner, false)),
						errdetail("A handler gets every row of its source, whatever the policies say, so the "
								  "handler's owner must be exempt from them.")));
}

void
CheckSource(Oid schema, Oid source, Oid owner)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(source));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", source)));
	Form_pg_class relation = (Form_pg_class)GETSTRUCT(tuple);
	bool table = relation->relkind == RELKIND_RELATION || relation->relkind == RELKIND_PARTITIONED_TABLE;
	if (!table || relation->relpersistence != RELPERSISTENCE_PERMANENT || IsCatalogRelationOid(source) ||
		relation->relnamespace == PG_TOAST_NAMESPACE ||
		(relation->relnamespace == schema && strncmp(NameStr(relation->relname), "pgq_", 4) == 0))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" cannot be the source of a handler", NameStr(relation->relname)),
						errdetail("A source is a permanent table: not a view, a foreign, temporary or "
								  "unlogged table, a system catalog, or a table of this extension.")));
	ReleaseSysCache(tuple);
	CheckReadable(source, owner);
}

} // namespace pgq_ext::queue
