// Defining handlers: see handler_ddl.hpp.
#include "queue/handler_ddl.hpp"

#include "pg/table.hpp"
#include "queue/handler_checks.hpp"

extern "C" {
#include "catalog/pg_collation.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/xid8.h"
}

namespace pgq_ext::queue {

// Columns of pgq_handler.
enum HandlerColumn {
	kHandlerId = 1,
	kName,
	kSource,
	kRule,
	kHandlerQueue,
	kKeyText,
	kFilterText,
	kPriorityText,
	kArgsText,
	kCreatedAt,
	kCreatedXid,
	kRetiredXid,
	kRetiredRule,
	kOwner,
};

// Which column has the text of which expression.
constexpr HandlerColumn kTextColumns[kRuleColumns] = {kFilterText, kKeyText, kPriorityText, kArgsText};

// A handler's row that is not retired. Strings in the memory context of ReadDefinition.
struct Current {
	ItemPointerData tid;
	int64 id;
	Oid rule;
	Definition definition;
	Oid owner;
	Query *query; // nullptr: its view is gone, or was replaced
};

// Definitions of one name wait for each other, until the transactions that make them end; the table itself is never
// locked, so the enqueuer does not notice. Two names may share a lock.
static void
LockName(Oid schema, const char *handler)
{
	LockDatabaseObject(pg::RelationNamed(schema, "pgq_handler"),
					   hash_bytes((const unsigned char *)handler, (int)strlen(handler)), 0, AccessExclusiveLock);
}

static const char *
TextColumn(TupleTableSlot *row, int column)
{
	bool isnull;
	Datum value = pg::Get(row, column, &isnull);

	return isnull ? nullptr : TextDatumGetCString(value);
}

static Current
ReadDefinition(TupleTableSlot *row)
{
	Current current = {};
	bool isnull;

	current.tid = row->tts_tid;
	current.id = DatumGetInt64(pg::Get(row, kHandlerId, &isnull));
	current.rule = DatumGetObjectId(pg::Get(row, kRule, &isnull));
	current.definition.handler = TextColumn(row, kName);
	current.definition.source = DatumGetObjectId(pg::Get(row, kSource, &isnull));
	current.definition.queue = TextColumn(row, kHandlerQueue);
	for (int i = 0; i < kRuleColumns; i++)
		current.definition.rule.of[i] = TextColumn(row, kTextColumns[i]);
	current.owner = DatumGetObjectId(pg::Get(row, kOwner, &isnull));
	current.query = RuleQuery(current.rule, current.definition.source, &current.owner);
	return current;
}

static bool
FindCurrent(const pg::Table &table, Snapshot snapshot, const char *handler, Current *current)
{
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(handler));
	pg::Scan scan = pg::BeginScan(table, "pgq_handler_name", snapshot, &key, 1);
	bool found = scan.Next();
	if (found)
		*current = ReadDefinition(table.row);
	scan.End();
	return found;
}

static void
SetText(const pg::Table &table, int column, const char *text)
{
	if (text != nullptr)
		pg::Set(table, column, CStringGetTextDatum(text));
}

static void
InsertVersion(Oid schema, const pg::Table &table, const Definition &definition, Oid owner, Query *query)
{
	Oid ids = pg::RelationNamed(schema, "pgq_handler_handler_id_seq");
	int64 id = nextval_internal(ids, false);
	Oid rule = CreateRuleView(schema, psprintf("pgq_handler_" INT64_FORMAT, id),
							  psprintf("expressions of handler \"%s\"", definition.handler), owner, query);

	pg::StartRow(table);
	pg::Set(table, kHandlerId, Int64GetDatum(id));
	SetText(table, kName, definition.handler);
	pg::Set(table, kSource, ObjectIdGetDatum(definition.source));
	pg::Set(table, kRule, ObjectIdGetDatum(rule));
	SetText(table, kHandlerQueue, definition.queue);
	for (int i = 0; i < kRuleColumns; i++)
		SetText(table, kTextColumns[i], definition.rule.of[i]);
	pg::Set(table, kCreatedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
	pg::Set(table, kCreatedXid, FullTransactionIdGetDatum(GetTopFullTransactionId()));
	pg::Set(table, kOwner, ObjectIdGetDatum(owner));
	pg::Insert(table);
	CommandCounterIncrement();
}

// Marks the version as retired and drops its view: what the stream still needs of it moves into the row.
static void
Retire(const pg::Table &table, Snapshot snapshot, Current *current)
{
	if (!table_tuple_fetch_row_version(table.relation, &current->tid, snapshot, table.row))
		elog(ERROR, "handler version " INT64_FORMAT " has moved", current->id);
	pg::StartChange(table);
	pg::Set(table, kRetiredXid, FullTransactionIdGetDatum(GetTopFullTransactionId()));
	if (current->query != nullptr) {
		SetText(table, kRetiredRule, nodeToString(current->query));
		pg::Set(table, kOwner, ObjectIdGetDatum(current->owner));
	}
	if (pg::Update(table, &current->tid, snapshot) != pg::Outcome::Done)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("handler \"%s\" was changed concurrently", current->definition.handler)));
	CommandCounterIncrement();
	DropRuleView(current->rule);
}

static Current
RequireOwned(const pg::Table &table, Snapshot snapshot, const char *handler)
{
	Current current;

	if (!FindCurrent(table, snapshot, handler, &current))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("handler \"%s\" does not exist", handler)));
	if (!has_privs_of_role(GetUserId(), current.owner))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of handler \"%s\"", handler)));
	return current;
}

void
CreateHandler(Oid schema, const Definition &definition)
{
	Oid owner = GetUserId();
	Current existing;

	CheckName(definition.handler);
	LockName(schema, definition.handler);
	pg::Table table = pg::Open(schema, "pgq_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	if (FindCurrent(table, snapshot, definition.handler, &existing))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("handler \"%s\" already exists", definition.handler)));
	LockQueue(schema, definition.queue);
	CheckSource(schema, definition.source, owner);
	Query *query = BindRule(definition.handler, definition.source, definition.rule, nullptr);
	InsertVersion(schema, table, definition, owner, query);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

// What the definition is after the change. An empty text removes its expression.
static Definition
Merge(const Definition &old, const Definition &change)
{
	Definition merged = old;

	if (OidIsValid(change.source))
		merged.source = change.source;
	if (change.queue != nullptr)
		merged.queue = change.queue;
	for (int i = 0; i < kRuleColumns; i++)
		if (change.rule.of[i] != nullptr)
			merged.rule.of[i] = change.rule.of[i][0] != '\0' ? change.rule.of[i] : nullptr;
	return merged;
}

// Binds the expressions that change, and keeps the others as they were bound; a new source needs all bound anew.
static Query *
BindMerged(const Current &current, const Definition &change, const Definition &merged)
{
	if (merged.source != current.definition.source || current.query == nullptr)
		return BindRule(merged.handler, merged.source, merged.rule, nullptr);

	RuleText rebind = {};
	Query *keep = current.query;
	for (int i = 0; i < kRuleColumns; i++) {
		if (change.rule.of[i] == nullptr)
			continue;
		rebind.of[i] = merged.rule.of[i];
		if (rebind.of[i] == nullptr) // removed: bound to its default
			keep = WithDefault(merged.handler, merged.source, keep, i);
	}
	return BindRule(merged.handler, merged.source, rebind, keep);
}

void
AlterHandler(Oid schema, const Definition &change)
{
	LockName(schema, change.handler);
	pg::Table table = pg::Open(schema, "pgq_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	Current current = RequireOwned(table, snapshot, change.handler);
	Definition merged = Merge(current.definition, change);

	LockQueue(schema, merged.queue);
	CheckSource(schema, merged.source, current.owner);
	Query *query = BindMerged(current, change, merged);
	Retire(table, snapshot, &current);
	InsertVersion(schema, table, merged, current.owner, query);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

void
DropHandler(Oid schema, const char *handler)
{
	LockName(schema, handler);
	pg::Table table = pg::Open(schema, "pgq_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	Current current = RequireOwned(table, snapshot, handler);

	Retire(table, snapshot, &current);
	UnregisterSnapshot(snapshot);
	pg::Close(&table);
}

} // namespace pgq_ext::queue
