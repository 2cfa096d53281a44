// Sources by table: see source_table.hpp.
#include "decode/source_table.hpp"

#include "decode/source.hpp"
#include "pg/hash.hpp"

extern "C" {
#include "catalog/partition.h"
}

namespace pgq_ext::decode {

struct SourceEntry {
	Oid relid;      // hash key
	Source *source; // nullptr: not captured
};

List *
CapturedBy(Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	List *captured = list_make1_oid(relid);

	if (relation->rd_rel->relispartition)
		captured = list_concat(captured, get_partition_ancestors(relid));
	return captured;
}

static Source *
BuildSource(Relation relation, bool requests, const List *all)
{
	List *captured = CapturedBy(relation);
	List *handlers = NIL;
	ListCell *lc;

	foreach (lc, all) {
		Handler *handler = (Handler *)lfirst(lc);
		if (list_member_oid(captured, handler->source))
			handlers = lappend(handlers, handler);
	}
	if (handlers == NIL && !requests)
		return nullptr;

	Source *source = NewSource(relation, requests);
	SetHandlers(source, handlers);
	return source;
}

Source *
FindSource(SourceTable *table, MemoryContext batch, Relation relation, bool requests, const List *handlers)
{
	Oid relid = RelationGetRelid(relation);

	if (table->entries == nullptr)
		table->entries = pg::NewHash<Oid, SourceEntry>(batch, "pgq_ext sources", 64);
	SourceEntry *entry = (SourceEntry *)hash_search(table->entries, &relid, HASH_FIND, nullptr);
	if (entry != nullptr)
		return entry->source;

	// Looking for ancestors may bring an invalidation: what was found then holds for this row only.
	MemoryContext old = MemoryContextSwitchTo(batch);
	Source *source = BuildSource(relation, requests, handlers);
	MemoryContextSwitchTo(old);
	if (table->entries != nullptr) {
		entry = (SourceEntry *)hash_search(table->entries, &relid, HASH_ENTER, nullptr);
		entry->source = source;
	}
	return source;
}

} // namespace pgq_ext::decode
