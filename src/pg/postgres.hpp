// The border with the server: the one place that includes its headers, and the few repairs C++ needs.
#pragma once

// Before 16 the server's macro is empty, and -fvisibility=hidden would hide what it looks up by name.
#define PGDLLEXPORT __attribute__((visibility("default")))

extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

// LSN_FORMAT_ARGS checks its argument with a C-only builtin.
#undef AssertVariableIsOfTypeMacro
#define AssertVariableIsOfTypeMacro(varname, typename) ((void)0)
