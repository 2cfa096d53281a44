// Records of our own tables are not worth decoding: most of a queue's WAL is its own updates and deletes.
//
// They are recognised by the file they change, before they reach the reorder buffer. Only files known to belong to our
// tables (and their TOAST tables) are skipped; a file unknown after TRUNCATE or a rewrite is decoded, which costs time
// but is always right.
#pragma once

#include "decode/collector.hpp"

extern "C" {
#include "replication/logical.h"
}

namespace pgq_ext::decode {

// Sets which tables to skip, by Oid, with their TOAST tables. Needs a transaction.
void SetSkipped(const Oid *relids, int n);

// Takes the record that the context's reader has just read, if it changes a skipped table: true when it is done with.
// Also notes the first halves of cross-partition UPDATEs.
bool SkipRecord(LogicalDecodingContext *ctx, Collector *collector);

} // namespace pgq_ext::decode
