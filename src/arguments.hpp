// Checks of what callers pass to our SQL functions. Each error names the argument.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext {

// How a function that writes begins: read_only_sql_transaction (25006) where nothing may be written. Returns the schema of
// the extension, which is the called function's: no name is looked up, so nobody can put another schema in its place.
Oid StartWriting(FunctionCallInfo fcinfo, const char *function);

// null_value_not_allowed (22004) when argument number n, called name, is NULL.
void RequireNotNull(FunctionCallInfo fcinfo, int n, const char *name);

// The interval argument; nullptr when it is NULL. invalid_parameter_value (22023) unless it leads
// from now to a later time, by no more than 10,000 years.
const Interval *SpanArgument(FunctionCallInfo fcinfo, int n, const char *name);

// The text argument, not toasted; NULL stays NULL.
NullableDatum TextArgument(FunctionCallInfo fcinfo, int n);

NullableDatum NullableArgument(FunctionCallInfo fcinfo, int n);

} // namespace pgq_ext
