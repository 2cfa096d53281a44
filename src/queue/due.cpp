// The earliest due time of a transaction: see due.hpp.
#include "queue/due.hpp"

namespace pgq_ext::queue {

static TimestampTz earliest = DT_NOEND;

void
NoteDue(TimestampTz when)
{
	earliest = Min(earliest, when);
}

TimestampTz
TakeEarliestDue()
{
	TimestampTz when = earliest;

	earliest = DT_NOEND;
	return when;
}

} // namespace pgq_ext::queue
