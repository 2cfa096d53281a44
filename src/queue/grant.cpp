// Granting and revoking by four words: see grant.hpp.
#include "queue/grant.hpp"

#include "pg/compat.hpp"
#include "pg/extension.hpp"
#include "pg/table.hpp"
#include "queue/handler_checks.hpp"
#include "queue/worker_rights.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "utils/acl.h"
#include "utils/catcache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace pgq_ext::queue {

// Every function and view that is for users is here; test/sql/grants.sql sees to it.
static const Right rights[] = {
	{"produce", {"pgq_enqueue"}, {}},
	{"work", {"pgq_dequeue", "pgq_next", "pgq_complete", "pgq_fail", "pgq_extend", "pgq_release"}, {}},
	{"monitor",
	 {"pgq_enqueuer_status", "pgq_check", "pgq_sync"},
	 {"pgq_jobs", "pgq_queues", "pgq_handlers", "pgq_event_errors", "pgq_enqueuer"}},
	{"administer",
	 {"pgq_create_queue", "pgq_alter_queue", "pgq_drop_queue", "pgq_create_handler", "pgq_alter_handler",
	  "pgq_drop_handler", "pgq_cancel", "pgq_retry", "pgq_retry_event", "pgq_adopt_jobs"},
	 {}},
};

const Right *
RightNamed(const char *word)
{
	for (const Right &right : rights)
		if (strcmp(right.word, word) == 0)
			return &right;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("there is no right \"%s\"", word),
					errhint("The rights are \"produce\", \"work\", \"monitor\" and \"administer\".")));
	pg_unreachable();
}

bool
IsByQueue(const Right *right)
{
	return strcmp(right->word, "work") == 0;
}

void
RequireExtensionOwner()
{
	if (!pg::OwnsExtension(pg::FindExtension().oid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_EXTENSION, "pgq_ext");
}

// --- GRANT and REVOKE as statements ---------------------------------------------------------------------------------

enum class Verb { Grant, Revoke };

// GRANT privilege ON object TO role, or the reverse.
static void
Execute(Verb verb, const char *privilege, const char *object, Oid role)
{
	const char *statement =
		psprintf("%s %s ON %s %s %s", verb == Verb::Grant ? "GRANT" : "REVOKE", privilege, object,
				 verb == Verb::Grant ? "TO" : "FROM", quote_identifier(GetUserNameFromId(role, false)));

	if (SPI_execute(statement, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute: %s", statement);
}

// Runs use(oid) on each function of the extension that has the name.
template <typename Use>
static void
ForEachFunction(Oid schema, const char *name, const Use &use)
{
	Oid extension = pg::FindExtension().oid;
	CatCList *list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	List *found = NIL;
	ListCell *lc;

	for (int i = 0; i < list->n_members; i++) {
		Form_pg_proc function = (Form_pg_proc)GETSTRUCT(&list->members[i]->tuple);
		if (function->pronamespace == schema && getExtensionOfObject(ProcedureRelationId, function->oid) == extension)
			found = lappend_oid(found, function->oid);
	}
	ReleaseSysCacheList(list);
	foreach (lc, found)
		use(lfirst_oid(lc));
}

static void
ChangeFunctions(Verb verb, Oid schema, const Right *right, Oid role)
{
	for (const char *const *name = right->functions; *name != nullptr; name++)
		ForEachFunction(schema, *name, [&](Oid function) {
			Execute(verb, "EXECUTE", psprintf("FUNCTION %s", format_procedure_qualified(function)), role);
		});
}

static void
ChangeViews(Verb verb, Oid schema, const Right *right, Oid role)
{
	for (const char *const *name = right->views; *name != nullptr; name++)
		Execute(verb, "SELECT", psprintf("TABLE %s", quote_qualified_identifier(get_namespace_name(schema), *name)),
				role);
}

static void
ChangeMark(Verb verb, Oid schema, Oid role)
{
	Execute(verb, "USAGE",
			psprintf("TYPE %s", format_type_extended(MarkOfLimited(schema), -1, FORMAT_TYPE_FORCE_QUALIFY)), role);
}

// --- the schema -----------------------------------------------------------------------------------------------------

static const char *
SchemaAsObject(Oid schema)
{
	return psprintf("SCHEMA %s", quote_identifier(get_namespace_name(schema)));
}

static void
GrantSchema(Oid schema, Oid role)
{
	if (pg_namespace_aclcheck(schema, role, ACL_USAGE) != ACLCHECK_OK)
		Execute(Verb::Grant, "USAGE", SchemaAsObject(schema), role);
}

// Whether the role itself owns anything in the schema or has been granted a right on it, ours or not.
static bool
HasUseFor(Oid schema, Oid role)
{
	Oid types[] = {OIDOID, OIDOID};
	Datum values[] = {ObjectIdGetDatum(schema), ObjectIdGetDatum(role)};
	bool isnull;
	int result = SPI_execute_with_args(
		"SELECT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = $1 AND (c.relowner = $2 OR EXISTS "
		"              (SELECT FROM aclexplode(c.relacl) x WHERE x.grantee = $2)))"
		"    OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = $1 AND (p.proowner = $2 OR EXISTS "
		"              (SELECT FROM aclexplode(p.proacl) x WHERE x.grantee = $2)))",
		2, types, values, nullptr, true, 1);

	if (result != SPI_OK_SELECT)
		elog(ERROR, "could not look for what a role may do");
	return DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

static void
RevokeSchema(Oid schema, Oid role)
{
	CommandCounterIncrement();
	if (!HasUseFor(schema, role))
		Execute(Verb::Revoke, "USAGE", SchemaAsObject(schema), role);
}

// --- rights ---------------------------------------------------------------------------------------------------------

// Whether the role itself has been granted EXECUTE on one of the right's functions.
static bool
HoldsSome(Oid schema, const Right *right, Oid role)
{
	bool holds = false;

	for (const char *const *name = right->functions; *name != nullptr; name++)
		ForEachFunction(schema, *name, [&](Oid function) { holds = holds || CallsDirectly(function, role); });
	return holds;
}

static void
GrantQueue(Oid schema, const Right *right, Oid role, Datum queue)
{
	LockQueue(schema, TextDatumGetCString(queue));
	if (HoldsSome(schema, right, role) && !IsLimited(schema, role)) {
		ereport(NOTICE, (errmsg("role \"%s\" may work all queues already", GetUserNameFromId(role, false)),
						 errhint("Revoke that before limiting it to single queues.")));
		return;
	}
	ChangeMark(Verb::Grant, schema, role);
	ChangeFunctions(Verb::Grant, schema, right, role);
	AddQueueOf(schema, role, queue);
	GrantSchema(schema, role);
}

void
Grant(Oid schema, const Right *right, Oid role, NullableDatum queue)
{
	if (!queue.isnull) {
		GrantQueue(schema, right, role, queue.value);
		return;
	}
	ChangeFunctions(Verb::Grant, schema, right, role);
	ChangeViews(Verb::Grant, schema, right, role);
	GrantSchema(schema, role);
	if (IsByQueue(right)) {
		ChangeMark(Verb::Revoke, schema, role);
		RemoveQueuesOf(schema, role, queue);
	}
}

// Takes the queue; true when it was the role's last.
static bool
RevokeQueue(Oid schema, const Right *right, Oid role, NullableDatum queue)
{
	LockQueue(schema, TextDatumGetCString(queue.value));
	if (!IsLimited(schema, role)) {
		if (HoldsSome(schema, right, role))
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("role \"%s\" may work all queues", GetUserNameFromId(role, false)),
							errhint("Revoke \"work\" without a queue, and grant it for single queues.")));
		return false;
	}
	RemoveQueuesOf(schema, role, queue);
	return !HasQueues(schema, role);
}

void
Revoke(Oid schema, const Right *right, Oid role, NullableDatum queue)
{
	if (!queue.isnull && !RevokeQueue(schema, right, role, queue))
		return;
	ChangeFunctions(Verb::Revoke, schema, right, role);
	ChangeViews(Verb::Revoke, schema, right, role);
	if (IsByQueue(right)) {
		RemoveQueuesOf(schema, role, NullableDatum{(Datum)0, true});
		// After the functions: no moment without either fence.
		ChangeMark(Verb::Revoke, schema, role);
	}
	RevokeSchema(schema, role);
}

} // namespace pgq_ext::queue
