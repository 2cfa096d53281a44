// What a captured table is to the events of one stretch of the stream.
#pragma once

#include "decode/event.hpp"

extern "C" {
#include "utils/rel.h"
}

namespace pgq_ext::decode {

// The table as the catalog shows it now, without handlers, in the current memory context.
Source *NewSource(Relation relation, bool requests);

// Gives it its handlers, a list of Handler *.
void SetHandlers(Source *source, const List *handlers);

// Whether two sources of the same table have the same columns, also in the tables above.
bool SameColumns(const Source *a, const Source *b);

// For each column of the source's rows, its number in the table above; nullptr: that is the source itself.
const AttrNumber *ColumnsIn(const Source *source, Oid relid);

} // namespace pgq_ext::decode
