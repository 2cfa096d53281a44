// The SQL functions that define handlers, and try again what a handler could not do.
#include "arguments.hpp"
#include "queue/event_error.hpp"
#include "queue/handler_ddl.hpp"
#include "queue/rule_view.hpp"

namespace pgq_ext {

// The text argument as a string; nullptr when it is NULL.
static const char *
StringArgument(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

static Oid
SchemaOf(FunctionCallInfo fcinfo)
{
	return get_func_namespace(fcinfo->flinfo->fn_oid);
}

// Arguments in the order of both functions: handler, source, serialization_key, filter, priority, args, queue.
static queue::Definition
DefinitionFrom(FunctionCallInfo fcinfo)
{
	queue::Definition definition = {};

	RequireNotNull(fcinfo, 0, "handler");
	definition.handler = StringArgument(fcinfo, 0);
	definition.source = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	definition.rule.of[queue::kSerializationKey] = StringArgument(fcinfo, 2);
	definition.rule.of[queue::kMatches] = StringArgument(fcinfo, 3);
	definition.rule.of[queue::kPriority] = StringArgument(fcinfo, 4);
	definition.rule.of[queue::kArgs] = StringArgument(fcinfo, 5);
	definition.queue = StringArgument(fcinfo, 6);
	return definition;
}

} // namespace pgq_ext

extern "C" {
PG_FUNCTION_INFO_V1(pgq_ext_create_handler);
PG_FUNCTION_INFO_V1(pgq_ext_alter_handler);
PG_FUNCTION_INFO_V1(pgq_ext_drop_handler);
PG_FUNCTION_INFO_V1(pgq_ext_retry_event);
PG_FUNCTION_INFO_V1(pgq_ext_attach_rule);

PGDLLEXPORT Datum
pgq_ext_create_handler(PG_FUNCTION_ARGS)
{
	using namespace pgq_ext;

	PreventCommandIfReadOnly("pgq_create_handler()");
	queue::Definition definition = DefinitionFrom(fcinfo);
	RequireNotNull(fcinfo, 1, "source");
	RequireNotNull(fcinfo, 6, "queue");
	// An empty text is no expression, as in pgq_alter_handler.
	for (const char *&expression : definition.rule.of)
		expression = expression != nullptr && expression[0] != '\0' ? expression : nullptr;
	queue::CreateHandler(SchemaOf(fcinfo), definition);
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_alter_handler(PG_FUNCTION_ARGS)
{
	using namespace pgq_ext;

	PreventCommandIfReadOnly("pgq_alter_handler()");
	queue::AlterHandler(SchemaOf(fcinfo), DefinitionFrom(fcinfo));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_drop_handler(PG_FUNCTION_ARGS)
{
	using namespace pgq_ext;

	PreventCommandIfReadOnly("pgq_drop_handler()");
	RequireNotNull(fcinfo, 0, "handler");
	queue::DropHandler(SchemaOf(fcinfo), StringArgument(fcinfo, 0));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_attach_rule(PG_FUNCTION_ARGS)
{
	using namespace pgq_ext;

	PreventCommandIfReadOnly("pgq_adopt_handlers()");
	RequireNotNull(fcinfo, 0, "rule");
	queue::GoWithExtension(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

PGDLLEXPORT Datum
pgq_ext_retry_event(PG_FUNCTION_ARGS)
{
	using namespace pgq_ext;

	PreventCommandIfReadOnly("pgq_retry_event()");
	RequireNotNull(fcinfo, 0, "error_id");
	PG_RETURN_BOOL(queue::RequestEventRetry(SchemaOf(fcinfo), PG_GETARG_INT64(0)));
}
}
