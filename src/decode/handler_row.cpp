// Rows of pgq_handler: see handler_row.hpp.
#include "decode/handler_row.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace pgq_ext::decode {

Handler *
HandlerFromRow(TupleDesc desc, HeapTuple row)
{
	Handler *handler = (Handler *)palloc0(sizeof(Handler));
	bool isnull;

	auto column = [&](const char *name) {
		Datum value = heap_getattr(row, SPI_fnumber(desc, name), desc, &isnull);
		return value;
	};
	handler->id = DatumGetInt64(column("handler_id"));
	handler->name = TextDatumGetCString(column("handler"));
	handler->queue = TextDatumGetCString(column("queue"));
	handler->source = DatumGetObjectId(column("source"));
	handler->rule = DatumGetObjectId(column("rule"));
	handler->owner = DatumGetObjectId(column("owner"));
	column("retired_xid");
	handler->retired = !isnull;
	return handler;
}

Handler *
CopyHandler(const Handler &handler)
{
	Handler *copy = (Handler *)palloc(sizeof(Handler));

	*copy = handler;
	copy->name = pstrdup(handler.name);
	copy->queue = pstrdup(handler.queue);
	return copy;
}

bool
IsDetached(TupleDesc desc, HeapTuple row)
{
	return heap_attisnull(row, SPI_fnumber(desc, "created_xid"), desc);
}

} // namespace pgq_ext::decode
