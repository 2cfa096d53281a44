// The handlers as their tables say.
#pragma once

#include "decode/event.hpp"

namespace pgq_ext::queue {

// A row of pgq_handler.
struct HandlerRow {
	decode::Handler handler;
	bool active; // applies at the position in pgq_progress
	TransactionId created_xid;
	TransactionId retired_xid; // Invalid: not retired
};

// Every row of pgq_handler, as HandlerRow *, by id, in the current memory context.
List *ReadHandlers(Oid schema);

} // namespace pgq_ext::queue
