// pgq_grant and pgq_revoke: checks of the arguments, then src/queue.
#include "arguments.hpp"
#include "queue/grant.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/syscache.h"
}

namespace pgq_ext {

static Oid
RoleArgument(FunctionCallInfo fcinfo, int n, const char *name)
{
	RequireNotNull(fcinfo, n, name);

	Oid role = PG_GETARG_OID(n);
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role with OID %u does not exist", role)));
	return role;
}

using Change = void (*)(Oid schema, const queue::Right *right, Oid role, NullableDatum queue);

// Arguments in the order of both functions: role, what, queue.
static void
ChangeRight(FunctionCallInfo fcinfo, const char *function, Change change)
{
	Oid schema = StartWriting(fcinfo, function);
	Oid role = RoleArgument(fcinfo, 0, "role");

	RequireNotNull(fcinfo, 1, "what");
	const queue::Right *right = queue::RightNamed(TextDatumGetCString(PG_GETARG_DATUM(1)));
	NullableDatum queue = TextArgument(fcinfo, 2);
	if (!queue.isnull && !queue::IsByQueue(right))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("argument \"queue\" can only be given with \"work\"")));
	queue::RequireExtensionOwner();
	SPI_connect();
	change(schema, right, role, queue);
	SPI_finish();
}

} // namespace pgq_ext

using namespace pgq_ext;

extern "C" {

PG_FUNCTION_INFO_V1(pgq_ext_grant);
PG_FUNCTION_INFO_V1(pgq_ext_revoke);

PGDLLEXPORT Datum
pgq_ext_grant(PG_FUNCTION_ARGS)
{
	ChangeRight(fcinfo, "pgq_grant()", queue::Grant);
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_revoke(PG_FUNCTION_ARGS)
{
	ChangeRight(fcinfo, "pgq_revoke()", queue::Revoke);
	PG_RETURN_VOID();
}

} // extern "C"
