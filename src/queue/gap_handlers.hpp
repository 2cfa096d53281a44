// Which handlers applied to which transactions of a gap, and which apply at its end; and where there is no gap.
#pragma once

#include "decode/commit_order.hpp"
#include "queue/catch_up.hpp"

namespace pgq_ext::queue {

// The ids of the handler versions that are not retired, as int64 pointers.
List *ReadHandlerIds(Oid schema);

// Gives the collector the handlers that apply at the recorded position, for a slot that goes on from there.
void ResumeHandlers(Oid schema, decode::Collector *collector);

// A handler version in the gap: it applies to transactions with after < order <= until.
struct Version {
	decode::Handler *handler;
	uint32 after;
	uint32 until;
};

// The handler versions of the gap, as Version *. Those that apply at its end are given to the collector; the batch gets
// what is to be recorded of the others. commits is nullptr when the order of the gap's commits is not known.
List *VersionsOfGap(Oid schema, decode::Collector *collector, decode::Batch *batch, const Gap &gap,
					const decode::CommitOrder *commits);

// A source for rows of relation, in that memory, to which these handlers (of decode::Handler *) apply. requests: it is
// pgq_request.
decode::Source *SourceWith(MemoryContext context, Relation relation, bool requests, const List *handlers);

// The source for a row of relation that was inserted by the transaction with that order; captured are the tables whose
// handlers apply to it. nullptr: none does. Rows that come one after the other mostly share it, so last is looked at
// first.
decode::Source *SourceAt(const List *versions, MemoryContext context, Relation relation, const List *captured,
						 uint32 order, decode::Source *last);

} // namespace pgq_ext::queue
