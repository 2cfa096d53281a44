// A server error as a value: the only place that catches one.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::pg {

// Runs body; returns nullptr, or the error it raised, copied into the memory context current at the call.
// After an error the caller must abort the transaction or subtransaction that body ran in.
// noinline keeps the callers' locals out of the frame that sigsetjmp returns into. A FATAL error is not caught.
template <typename Body>
[[gnu::noinline]] ErrorData *
Try(const Body &body)
{
	MemoryContext old = CurrentMemoryContext;
	ErrorData *volatile error = nullptr;

	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

} // namespace pgq_ext::pg
