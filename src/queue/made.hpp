// What has been made of a large transaction, when it is not known any more which of its rows that was.
//
// Pieces are counted in rows, in the order of the WAL. When the slot was lost, the rows come from their tables, in another
// order. Then each job and event error that its rows give is looked for among those that are there
// already: rows that give the same are as good as one another.
#pragma once

#include "queue/large_transaction.hpp"

namespace pgq_ext::queue {

struct Made;

// What is there of it, in the current memory context. Reads all jobs, live and archived.
Made *ReadMade(Oid schema, const LargeTransaction &large);

// Whether that job, or event error, is among them: it is taken out. handler and key are text, key 0 for none; args and
// event are jsonb, 0 for SQL NULL.
bool TakeJob(Made *made, Datum handler, Datum key, int32 priority, Datum args);
bool TakeError(Made *made, int64 handler_id, Datum event);

} // namespace pgq_ext::queue
