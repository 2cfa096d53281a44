// Positions of jobs, across a dump: see position.hpp.
#include "queue/position.hpp"

#include "pg/table.hpp"

extern "C" {
#include "commands/sequence.h"
#include "utils/fmgrprotos.h"
}

namespace pgq_ext::queue {

// The sequence is set so far ahead, and so not with each transaction. At a start so many positions may be left out.
constexpr int64 kAhead = 1024;

// The sequence's last value; 0 when it has none.
static int64
LastValue(Oid sequence)
{
	LOCAL_FCINFO(call, 1);

	InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
	call->args[0].value = ObjectIdGetDatum(sequence);
	call->args[0].isnull = false;
	Datum value = pg_sequence_last_value(call);
	return call->isnull ? 0 : DatumGetInt64(value);
}

void
TakePositions(Oid schema, Progress *progress)
{
	int64 last = LastValue(pg::RelationNamed(schema, "pgq_position_seq"));

	if (last != progress->position_limit)
		progress->next_position = Max(progress->next_position, last + 1);
	progress->position_limit = last;
}

void
KeepPositions(Oid schema, Progress *progress)
{
	if (progress->next_position <= progress->position_limit)
		return;
	progress->position_limit = progress->next_position + kAhead;
	DirectFunctionCall2(setval_oid, ObjectIdGetDatum(pg::RelationNamed(schema, "pgq_position_seq")),
						Int64GetDatum(progress->position_limit));
}

} // namespace pgq_ext::queue
