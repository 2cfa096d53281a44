// Which queues a caller may work: see worker_rights.hpp.
#include "queue/worker_rights.hpp"

#include "pg/table.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

// Columns of pgq_queue_worker.
enum {
	kQueue = 1,
	kRole,
};

constexpr const char *kMark = "pgq_limited_worker";

// A copy of an ACL from a syscache tuple; nullptr when it has none.
static Acl *
AclOf(int cache, HeapTuple tuple, int column)
{
	bool isnull;
	Datum acl = SysCacheGetAttr(cache, tuple, column, &isnull);

	return isnull ? nullptr : DatumGetAclPCopy(acl);
}

// The roles that are limited, as the ACL of the mark; nullptr when there are none but the owner, who is not limited by it.
static Acl *
LimitedRoles(Oid schema, Oid *owner)
{
	HeapTuple mark = SearchSysCache2(TYPENAMENSP, CStringGetDatum(kMark), ObjectIdGetDatum(schema));

	if (!HeapTupleIsValid(mark))
		elog(ERROR, "type \"%s\" of extension \"pgq_ext\" does not exist", kMark);
	Acl *acl = AclOf(TYPENAMENSP, mark, Anum_pg_type_typacl);
	*owner = ((Form_pg_type)GETSTRUCT(mark))->typowner;
	ReleaseSysCache(mark);
	return acl != nullptr && ACL_NUM(acl) > 1 ? acl : nullptr;
}

static bool
Grants(const Acl *acl, Oid role, AclMode privilege)
{
	for (int i = 0; acl != nullptr && i < ACL_NUM(acl); i++)
		if (ACL_DAT(acl)[i].ai_grantee == role && (ACLITEM_GET_PRIVS(ACL_DAT(acl)[i]) & privilege) != 0)
			return true;
	return false;
}

static Acl *
AclOfFunction(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Acl *acl = AclOf(PROCOID, tuple, Anum_pg_proc_proacl);

	ReleaseSysCache(tuple);
	return acl;
}

bool
CallsDirectly(Oid function, Oid role)
{
	return Grants(AclOfFunction(function), role, ACL_EXECUTE);
}

// Whether role may call the function thanks to a role, or to PUBLIC, that is not limited.
static bool
CallsUnlimited(Oid function, Oid role, const Acl *limited, Oid owner)
{
	const Acl *acl = AclOfFunction(function);
	bool unlimited = acl == nullptr;

	for (int i = 0; !unlimited && i < ACL_NUM(acl); i++) {
		Oid grantee = ACL_DAT(acl)[i].ai_grantee;

		if ((ACLITEM_GET_PRIVS(ACL_DAT(acl)[i]) & ACL_EXECUTE) == 0)
			continue;
		unlimited = (grantee == ACL_ID_PUBLIC || has_privs_of_role(role, grantee)) &&
					(grantee == owner || !Grants(limited, grantee, ACL_USAGE));
	}
	return unlimited;
}

const Limits *
LimitsOf(Oid function, Oid schema)
{
	Oid role = GetUserId();
	Oid owner;
	const Acl *limited = LimitedRoles(schema, &owner);

	if (limited == nullptr || superuser_arg(role) || CallsUnlimited(function, role, limited, owner))
		return nullptr;
	Limits *limits = (Limits *)palloc(sizeof(Limits));
	limits->schema = schema;
	limits->role = role;
	return limits;
}

static bool
MayWork(const Limits *limits, Snapshot snapshot, Datum queue)
{
	Relation table = table_open(pg::RelationNamed(limits->schema, "pgq_queue_worker"), AccessShareLock);
	ScanKeyData key;
	HeapTuple row;
	bool may = false;

	ScanKeyInit(&key, kQueue, BTEqualStrategyNumber, F_TEXTEQ, queue);
	SysScanDesc scan =
		systable_beginscan(table, pg::RelationNamed(limits->schema, "pgq_queue_worker_pkey"), true, snapshot, 1, &key);
	while (!may && HeapTupleIsValid(row = systable_getnext(scan))) {
		bool isnull;
		Oid role = DatumGetObjectId(heap_getattr(row, kRole, RelationGetDescr(table), &isnull));
		may = has_privs_of_role(limits->role, role);
	}
	systable_endscan(scan);
	table_close(table, NoLock);
	return may;
}

void
RequireWork(const Limits *limits, Snapshot snapshot, Datum queue)
{
	if (limits != nullptr && !MayWork(limits, snapshot, queue))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied for queue \"%s\"", TextDatumGetCString(queue))));
}

bool
IsLimited(Oid schema, Oid role)
{
	Oid owner;
	const Acl *limited = LimitedRoles(schema, &owner);

	return limited != nullptr && role != owner && Grants(limited, role, ACL_USAGE);
}

Oid
MarkOfLimited(Oid schema)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(kMark), ObjectIdGetDatum(schema));
}

void
AddQueueOf(Oid schema, Oid role, Datum queue)
{
	pg::Table table = pg::Open(schema, "pgq_queue_worker");

	pg::StartRow(table);
	pg::Set(table, kQueue, queue);
	pg::Set(table, kRole, ObjectIdGetDatum(role));
	(void)pg::InsertIfNew(table);
	pg::Close(&table);
}

// Runs use() on each row of the role, or of all, until it returns false. There are few rows.
template <typename Use>
static void
ForEachOf(const pg::Table &table, Oid role, const Use &use)
{
	Snapshot snapshot = pg::FreshSnapshot();
	TableScanDesc scan = table_beginscan(table.relation, snapshot, 0, nullptr);
	bool isnull, more = true;

	while (more && table_scan_getnextslot(scan, ForwardScanDirection, table.row))
		if (!OidIsValid(role) || DatumGetObjectId(pg::Get(table.row, kRole, &isnull)) == role)
			more = use(snapshot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
}

bool
HasQueues(Oid schema, Oid role)
{
	pg::Table table = pg::Open(schema, "pgq_queue_worker");
	bool has = false;

	ForEachOf(table, role, [&](Snapshot) {
		has = true;
		return false;
	});
	pg::Close(&table);
	return has;
}

void
RemoveQueuesOf(Oid schema, Oid role, NullableDatum queue)
{
	pg::Table table = pg::Open(schema, "pgq_queue_worker");

	ForEachOf(table, role, [&](Snapshot snapshot) {
		bool isnull;
		Datum of_row = pg::Get(table.row, kQueue, &isnull);
		ItemPointerData tid = table.row->tts_tid;

		if (queue.isnull || DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID, of_row, queue.value)))
			(void)pg::Delete(table, &tid, snapshot, pg::Wait::Yes);
		return true;
	});
	pg::Close(&table);
}

} // namespace pgq_ext::queue
