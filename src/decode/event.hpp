// What the WAL says: events, in commit order, collected into a batch.
//
// Plain values without knowledge of jobs. A batch owns its memory and its tuplestore; both go with ResetBatch.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "utils/tuplestore.h"
}

namespace pgq_ext::decode {

// One version of a handler, as its row in pgq_handler says. Lives as long as a stream that may still need it.
struct Handler {
	int64 id;
	char *name;
	char *queue;
	Oid source;
	Oid rule;
	Oid owner;
	bool retired;
	void *compiled; // owned by queue/rule.cpp
};

// A captured table as one stretch of the stream saw it: the shape of its rows and the handlers that apply.
struct Source {
	Oid relid;     // the table the rows were inserted into: a partition, or the source itself
	bool requests; // it is pgq_request: rows are our callers' requests, not events
	TupleDesc desc;
	int nhandlers;
	Handler **handlers;
	int nancestors;
	struct Ancestor *ancestors; // the tables that it was a partition of
};

// For each column of a partition, the number that it has in a table above (0: none).
struct Ancestor {
	Oid relid;
	AttrNumber *columns;
};

// Consecutive events of one transaction in one table.
struct Run {
	Source *source;
	int64 nrows;
	XLogRecPtr lsn; // of the commit
	TimestampTz committed_at;
};

// A change of the set of handlers: the stream has passed the commit that defined or retired one.
struct HandlerChange {
	Handler *handler;
	bool retired;
};

struct Large;

struct Batch {
	MemoryContext context; // everything below; reset with the batch
	Tuplestorestate *rows; // of all runs, in order
	int64 nrows;
	List *runs;            // of Run *
	List *handler_changes; // of HandlerChange *
	TransactionId *xids;   // transactions whose commits must be visible before the batch is written
	int nxids, max_xids;
	Large *large;   // the last transaction of the batch, when it is to be converted in pieces; nullptr: none
	XLogRecPtr end; // everything committed before it is in this batch or an earlier one
};

// Commits that are in the batch so far, or being added to it.
inline bool
IsEmpty(const Batch &batch)
{
	return batch.nrows == 0 && batch.handler_changes == NIL && batch.large == nullptr;
}

// Makes an empty batch under parent. owner must outlive it: it holds the tuplestore's temporary files.
Batch *NewBatch(MemoryContext parent);

// Empties the batch and frees what it held, and the handlers that it brought the retirement of.
void ResetBatch(Batch *batch);

// Appends a row. The run must be the batch's last.
void AddRow(Batch *batch, Run *run, HeapTuple row);

// Starts a run at the end of the batch.
Run *AddRun(Batch *batch, Source *source, XLogRecPtr lsn, TimestampTz committed_at);

// The batch must not be written before this transaction's commit is visible.
void AddXid(Batch *batch, TransactionId xid);

} // namespace pgq_ext::decode
