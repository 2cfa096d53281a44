// Which tables to be woken for and which to skip: see watch.hpp.
#include "process/watch.hpp"

#include "decode/skip.hpp"
#include "pg/table.hpp"

extern "C" {
#include "catalog/pg_inherits.h"
}

namespace pgq_ext::process {

static const char *const kSkipped[] = {
	"pgq_job", "pgq_archive", "pgq_progress", "pgq_queue", "pgq_active_handler", "pgq_idempotency", "pgq_event_error",
};

bool
TablesMayHaveChanged(Enqueuer *enqueuer)
{
	return decode::TakeTablesChanged(enqueuer->collector);
}

static List *
CapturedTables(Enqueuer *enqueuer)
{
	Oid schema = enqueuer->extension.schema;
	List *tables = list_make2_oid(pg::RelationNamed(schema, "pgq_handler"), pg::RelationNamed(schema, "pgq_request"));
	ListCell *lc;

	foreach (lc, decode::ActiveHandlers(enqueuer->collector)) {
		Oid source = ((decode::Handler *)lfirst(lc))->source;
		// Without locks: a partition that comes or goes meanwhile brings an invalidation, and us back here.
		if (get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE)
			tables = list_concat(tables, find_all_inheritors(source, NoLock, nullptr));
		else
			tables = lappend_oid(tables, source);
	}
	return tables;
}

static void
Watch(Enqueuer *enqueuer)
{
	List *captured = CapturedTables(enqueuer);
	Oid *relids = (Oid *)palloc(list_length(captured) * sizeof(Oid));
	Oid skipped[lengthof(kSkipped)];
	ListCell *lc;

	foreach (lc, captured)
		relids[foreach_current_index(lc)] = lfirst_oid(lc);
	SetCaptured(enqueuer->db, relids, list_length(captured));
	for (size_t i = 0; i < lengthof(kSkipped); i++)
		skipped[i] = pg::RelationNamed(enqueuer->extension.schema, kSkipped[i]);
	decode::SetSkipped(skipped, lengthof(kSkipped));
}

bool
WatchTables(Enqueuer *enqueuer)
{
	return InTransaction(enqueuer, [&]() { Watch(enqueuer); });
}

} // namespace pgq_ext::process
