// Which handlers applied where in a gap: see gap_handlers.hpp.
#include "queue/gap_handlers.hpp"

#include "decode/handler_row.hpp"
#include "decode/source.hpp"
#include "queue/handler_table.hpp"

namespace pgq_ext::queue {

List *
ReadHandlerIds(Oid schema)
{
	List *ids = NIL;
	ListCell *lc;

	foreach (lc, ReadHandlers(schema)) {
		HandlerRow *row = (HandlerRow *)lfirst(lc);
		if (row->handler.retired)
			continue;
		int64 *id = (int64 *)palloc(sizeof(int64));
		*id = row->handler.id;
		ids = lappend(ids, id);
	}
	return ids;
}

static bool
Contains(const List *ids, int64 id)
{
	ListCell *lc;

	foreach (lc, ids)
		if (*(int64 *)lfirst(lc) == id)
			return true;
	return false;
}

static decode::Handler *
LongLived(MemoryContext context, const decode::Handler &handler)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	decode::Handler *copy = decode::CopyHandler(handler);

	MemoryContextSwitchTo(old);
	return copy;
}

static void
AddChange(decode::Batch *batch, decode::Handler *handler, bool retired)
{
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	decode::HandlerChange *change = (decode::HandlerChange *)palloc(sizeof(decode::HandlerChange));

	change->handler = handler;
	change->retired = retired;
	batch->handler_changes = lappend(batch->handler_changes, change);
	MemoryContextSwitchTo(old);
}

// Where in the gap a handler version begins and ends to apply. False: it begins after the gap, in the stream.
static bool
BordersOf(const decode::CommitOrder *commits, const Gap &gap, const HandlerRow &row, Version *version)
{
	decode::Commit created, retired;
	bool created_in_gap = commits != nullptr && decode::FindCommit(commits, row.created_xid, &created);
	bool retired_in_gap = commits != nullptr && decode::FindCommit(commits, row.retired_xid, &retired);
	bool known_before = Contains(gap.handlers_before, row.handler.id);

	if (!created_in_gap && !row.active && !known_before)
		return false;
	version->after = created_in_gap && !row.active ? created.order : 0;
	// Retired, but not in the gap: behind it, or, in a copied database and where the order of commits isn't known, before.
	bool before = row.handler.retired && !created_in_gap && !known_before;
	version->until = retired_in_gap ? retired.order : before ? 0 : PG_UINT32_MAX;
	return true;
}

List *
VersionsOfGap(Oid schema, decode::Collector *collector, decode::Batch *batch, const Gap &gap,
			  const decode::CommitOrder *commits)
{
	List *versions = NIL;
	ListCell *lc;

	foreach (lc, ReadHandlers(schema)) {
		HandlerRow *row = (HandlerRow *)lfirst(lc);
		Version version;

		if (!BordersOf(commits, gap, *row, &version))
			continue;
		version.handler = LongLived(GetMemoryChunkContext(batch), row->handler);
		Version *kept = (Version *)palloc(sizeof(Version));
		*kept = version;
		versions = lappend(versions, kept);
		if (!row->active)
			AddChange(batch, version.handler, false);
		if (version.until == PG_UINT32_MAX)
			decode::AddHandler(collector, version.handler);
		else
			AddChange(batch, version.handler, true);
	}
	return versions;
}

void
ResumeHandlers(Oid schema, decode::Collector *collector)
{
	ListCell *lc;

	foreach (lc, ReadHandlers(schema)) {
		HandlerRow *row = (HandlerRow *)lfirst(lc);
		if (row->active)
			decode::AddHandler(collector, LongLived(GetMemoryChunkContext(collector), row->handler));
	}
}

decode::Source *
SourceWith(MemoryContext context, Relation relation, bool requests, const List *handlers)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	decode::Source *source = decode::NewSource(relation, requests);

	decode::SetHandlers(source, handlers);
	MemoryContextSwitchTo(old);
	return source;
}

decode::Source *
SourceAt(const List *versions, MemoryContext context, Relation relation, const List *captured, uint32 order,
		 decode::Source *last)
{
	List *handlers = NIL;
	ListCell *lc;

	foreach (lc, versions) {
		Version *version = (Version *)lfirst(lc);
		if (version->after < order && order <= version->until && list_member_oid(captured, version->handler->source))
			handlers = lappend(handlers, version->handler);
	}
	int n = list_length(handlers);
	if (n == 0)
		return nullptr;
	bool same = last != nullptr && last->nhandlers == n;
	for (int i = 0; same && i < n; i++)
		same = last->handlers[i] == list_nth(handlers, i);
	if (same)
		return last;

	return SourceWith(context, relation, false, handlers);
}

} // namespace pgq_ext::queue
