// The enqueuer: the background worker of one database that turns its WAL into jobs.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
// Entry point of the dynamic background worker; arg is the database's Oid. Exits 0 when the database has no extension
// or must be left alone, 1 when it should be started again after a pause.
PGDLLEXPORT void pgq_ext_enqueuer_main(Datum arg);
}
