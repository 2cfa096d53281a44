// Reading a stretch of WAL: see wal_records.hpp.
#include "decode/wal_records.hpp"

#include "pg/try.hpp"

extern "C" {
#include "access/xlogutils.h"
}

namespace pgq_ext::decode {

static void
ReadRecords(XLogRecPtr from, XLogRecPtr to, VisitRecord visit, void *argument)
{
	XLogReaderRoutine routine = {};
	ReadLocalXLogPageNoWaitPrivate end_of_wal = {};
	char *error = nullptr;

	routine.page_read = read_local_xlog_page_no_wait;
	routine.segment_open = wal_segment_open;
	routine.segment_close = wal_segment_close;
	XLogReaderState *reader = XLogReaderAllocate(wal_segment_size, nullptr, &routine, &end_of_wal);
	XLogRecPtr start = XLogFindNextRecord(reader, from);
	if (XLogRecPtrIsInvalid(start))
		elog(ERROR, "could not find WAL at %X/%X", LSN_FORMAT_ARGS(from));
	XLogBeginRead(reader, start);
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		XLogRecord *record = XLogReadRecord(reader, &error);
		if (error != nullptr)
			elog(ERROR, "could not read WAL: %s", error);
		if (record == nullptr || reader->ReadRecPtr >= to)
			break;
		visit(argument, reader);
	}
	XLogReaderFree(reader);
}

bool
VisitWal(XLogRecPtr from, XLogRecPtr to, VisitRecord visit, void *argument)
{
	if (from >= to) // there may be no record yet to find
		return true;
	ErrorData *error = pg::Try([&]() { ReadRecords(from, to, visit, argument); });

	return error == nullptr;
}

} // namespace pgq_ext::decode
