// Reading a stretch of WAL record by record, without decoding it.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/xlogreader.h"
}

namespace pgq_ext::decode {

// Calls visit(argument, record) for each record with from <= LSN < to. Crosses timelines.
// False, whatever it was, when that WAL is no longer (completely) there.
using VisitRecord = void (*)(void *argument, XLogReaderState *record);
bool VisitWal(XLogRecPtr from, XLogRecPtr to, VisitRecord visit, void *argument);

} // namespace pgq_ext::decode
