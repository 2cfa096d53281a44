// Reading the handlers' tables: see handler_table.hpp.
#include "queue/handler_table.hpp"

#include "pg/table.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/fmgroids.h"
#include "utils/xid8.h"
}

namespace pgq_ext::queue {

static TransactionId
XidColumn(TupleTableSlot *row, int column)
{
	bool isnull;
	Datum value = pg::Get(row, column, &isnull);

	return isnull ? InvalidTransactionId : XidFromFullTransactionId(DatumGetFullTransactionId(value));
}

static HandlerRow *
FromRow(const pg::Table &table)
{
	TupleDesc desc = RelationGetDescr(table.relation);
	HandlerRow *row = (HandlerRow *)palloc0(sizeof(HandlerRow));
	bool isnull;

	auto column = [&](const char *name) { return pg::Get(table.row, SPI_fnumber(desc, name), &isnull); };
	row->handler.id = DatumGetInt64(column("handler_id"));
	row->handler.name = TextDatumGetCString(column("handler"));
	row->handler.queue = TextDatumGetCString(column("queue"));
	row->handler.source = DatumGetObjectId(column("source"));
	row->handler.rule = DatumGetObjectId(column("rule"));
	row->handler.owner = DatumGetObjectId(column("owner"));
	row->created_xid = XidColumn(table.row, SPI_fnumber(desc, "created_xid"));
	row->retired_xid = XidColumn(table.row, SPI_fnumber(desc, "retired_xid"));
	row->handler.retired = TransactionIdIsValid(row->retired_xid);
	return row;
}

List *
ReadHandlers(Oid schema)
{
	pg::Table handlers = pg::Open(schema, "pgq_handler");
	pg::Table active = pg::Open(schema, "pgq_active_handler");
	Snapshot snapshot = pg::FreshSnapshot();
	ScanKeyData all;
	List *rows = NIL;

	ScanKeyInit(&all, 1, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(PG_INT64_MIN));
	pg::Scan scan = pg::BeginScan(handlers, "pgq_handler_pkey", snapshot, &all, 1);
	while (scan.Next()) {
		HandlerRow *row = FromRow(handlers);
		if (!TransactionIdIsValid(row->created_xid)) // restored, and not adopted
			continue;
		row->active = pg::FindByInt64(active, "pgq_active_handler_pkey", snapshot, row->handler.id);
		rows = lappend(rows, row);
	}
	scan.End();
	UnregisterSnapshot(snapshot);
	pg::Close(&active);
	pg::Close(&handlers);
	return rows;
}

} // namespace pgq_ext::queue
