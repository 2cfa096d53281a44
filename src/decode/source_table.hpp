// The sources that rows of the present batch belong to, by table.
#pragma once

#include "decode/event.hpp"

extern "C" {
#include "utils/hsearch.h"
#include "utils/rel.h"
}

namespace pgq_ext::decode {

// In the batch's memory. Whoever learns that tables or handlers may have changed, or resets the batch, makes entries
// nullptr.
struct SourceTable {
	HTAB *entries; // nullptr: build anew
};

// The tables whose handlers apply to rows of relation, by oid: itself, and those it is a partition of. In the current
// memory context.
List *CapturedBy(Relation relation);

// The source for rows of relation, or nullptr when none of the handlers captures it. requests: it is pgq_request.
Source *FindSource(SourceTable *table, MemoryContext batch, Relation relation, bool requests, const List *handlers);

} // namespace pgq_ext::decode
