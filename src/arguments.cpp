// Argument checks: see arguments.hpp.
#include "arguments.hpp"

#include <cmath>

#include "queue/queue_settings.hpp"

namespace pgq_ext {

constexpr double kLongestYears = 10000;

Oid
StartWriting(FunctionCallInfo fcinfo, const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	return get_func_namespace(fcinfo->flinfo->fn_oid);
}

void
RequireNotNull(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (fcinfo->args[n].isnull)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("argument \"%s\" must not be null", name)));
}

// Whether time + span surely is a time; by its parts, so that no sum can overflow. Infinite
// intervals (since 17) have the largest parts there are.
static bool
IsModest(const Interval &span)
{
	return std::fabs(span.month / 12.0) + std::fabs(span.day / 365.25) +
			   std::fabs(static_cast<double>(span.time) / USECS_PER_DAY / 365.25) <=
		   kLongestYears;
}

const Interval *
SpanArgument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (fcinfo->args[n].isnull)
		return nullptr;

	const Interval *span = DatumGetIntervalP(fcinfo->args[n].value);
	if (!IsModest(*span))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("argument \"%s\" is out of range", name),
						errdetail("An interval may be as long as 10000 years.")));

	TimestampTz now = GetCurrentTimestamp();
	if (queue::Microseconds(*span) <= 0 || queue::Later(now, *span) <= now)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("argument \"%s\" must be a positive interval", name)));
	return span;
}

NullableDatum
NullableArgument(FunctionCallInfo fcinfo, int n)
{
	return fcinfo->args[n];
}

NullableDatum
TextArgument(FunctionCallInfo fcinfo, int n)
{
	NullableDatum argument = fcinfo->args[n];

	if (!argument.isnull)
		argument.value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(argument.value));
	return argument;
}

} // namespace pgq_ext
