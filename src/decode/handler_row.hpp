// What the stream needs of a row of pgq_handler.
#pragma once

#include "decode/event.hpp"

namespace pgq_ext::decode {

// The handler version that the row defines, in the current memory context.
Handler *HandlerFromRow(TupleDesc desc, HeapTuple row);

// A copy of it, in the current memory context.
Handler *CopyHandler(const Handler &handler);

// A handler that was restored from a dump does not apply before it is adopted, which inserts it anew.
bool IsDetached(TupleDesc desc, HeapTuple row);

} // namespace pgq_ext::decode
