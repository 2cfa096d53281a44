// The order in which rows were inserted, read from the WAL itself.
//
// A row on disk does not tell it: its command id is not in the WAL, so that after a crash, and on a standby, it is 0 in
// all rows.
#pragma once

#include "pg/compat.hpp"

extern "C" {
#include "storage/itemptr.h"
}

namespace pgq_ext::decode {

struct InsertOrder;

// Reads the inserts with from <= LSN < to into these tables (oids), which keep their files until the transaction ends;
// in the current memory context. nullptr when the WAL from there on is no longer (completely) there.
InsertOrder *ReadInsertOrder(XLogRecPtr from, XLogRecPtr to, const List *tables);

// In place of a position: an UPDATE has moved the row here from another partition.
constexpr XLogRecPtr kMovedHere = PG_UINT64_MAX;

// Where in the WAL the row at tid was inserted. Invalid: before from, or before the table was rewritten.
XLogRecPtr InsertedAt(const InsertOrder *order, const pg::RelFileLocator &file, const ItemPointerData &tid);

} // namespace pgq_ext::decode
