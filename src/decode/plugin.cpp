// The output plugin: see plugin.hpp.
#include "decode/plugin.hpp"

extern "C" {
#include "replication/logical.h"
#include "replication/origin.h"
#include "replication/output_plugin.h"

PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);
}

namespace pgq_ext::decode {

static Collector *collector;

void
SetPluginCollector(Collector *of_process)
{
	collector = of_process;
}

static void
Startup(LogicalDecodingContext *, OutputPluginOptions *options, bool)
{
	if (collector == nullptr)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("output plugin \"pgq_ext\" can only be used by the enqueuer of "
							   "extension \"pgq_ext\"")));
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
}

static void
Begin(LogicalDecodingContext *, ReorderBufferTXN *txn)
{
	CollectBegin(collector, txn);
}

static void
Change(LogicalDecodingContext *, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	CollectChange(collector, txn, relation, change);
}

static void
Commit(LogicalDecodingContext *, ReorderBufferTXN *txn, XLogRecPtr)
{
	CollectCommit(collector, txn);
}

static void
StreamStart(LogicalDecodingContext *, ReorderBufferTXN *txn)
{
	CollectStreamStart(collector, txn);
}

static void
StreamChange(LogicalDecodingContext *, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	CollectStreamed(collector, txn, relation, change);
}

static void
StreamStop(LogicalDecodingContext *, ReorderBufferTXN *txn)
{
	CollectStreamStop(collector, txn);
}

static void
StreamAbort(LogicalDecodingContext *, ReorderBufferTXN *txn, XLogRecPtr)
{
	CollectStreamAbort(collector, txn);
}

static void
StreamCommit(LogicalDecodingContext *, ReorderBufferTXN *txn, XLogRecPtr)
{
	CollectStreamCommit(collector, txn);
}

// The enqueuer marks its own transactions with this origin: nothing it writes is an event.
static bool
FilterByOrigin(LogicalDecodingContext *, RepOriginId origin)
{
	return origin == DoNotReplicateId;
}

} // namespace pgq_ext::decode

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = pgq_ext::decode::Startup;
	callbacks->begin_cb = pgq_ext::decode::Begin;
	callbacks->change_cb = pgq_ext::decode::Change;
	callbacks->commit_cb = pgq_ext::decode::Commit;
	callbacks->stream_start_cb = pgq_ext::decode::StreamStart;
	callbacks->stream_change_cb = pgq_ext::decode::StreamChange;
	callbacks->stream_stop_cb = pgq_ext::decode::StreamStop;
	callbacks->stream_abort_cb = pgq_ext::decode::StreamAbort;
	callbacks->stream_commit_cb = pgq_ext::decode::StreamCommit;
	callbacks->filter_by_origin_cb = pgq_ext::decode::FilterByOrigin;
}
