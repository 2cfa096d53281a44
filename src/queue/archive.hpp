// Moving jobs from the live table to the archive.
#pragma once

#include "pg/rows.hpp"
#include "queue/keys.hpp"

namespace pgq_ext::queue {

struct JobTables {
	pg::Table jobs;
	pg::Table archive;
	pg::Rows *finished; // what is still to be inserted into the archive; nullptr: each job is, at once
};
JobTables OpenJobTables(Oid schema);
void CloseJobTables(JobTables *tables);

struct Ending {
	Status status;
	int32 failures;
	NullableDatum last_error; // text; NULL: what the job has
	NullableDatum result;     // jsonb
};

constexpr NullableDatum kNone = {(Datum)0, true};

// Deletes the job in jobs.row, waiting for who holds it, and writes it to the archive. The next job
// of its key is still to be promoted.
pg::Outcome MoveToArchive(const JobTables &tables, Snapshot snapshot, const Job &job, const Ending &ending);

// The same, and promotes the next job of the key when the job was its head.
pg::Outcome Leave(const JobTables &tables, Snapshot snapshot, const Job &job, const Ending &ending);

// Leave, for those who must not wait: Busy, and nothing done, when somebody holds the job at tid,
// or the next one of its key, which has to be promoted. Changed when the version at tid isn't the
// newest.
pg::Outcome LeaveNoWait(const JobTables &tables, Snapshot snapshot, ItemPointerData tid, const Ending &ending);

// Finds the job in the archive, into archive.row; the status is set, too.
bool FindArchived(const pg::Table &archive, Snapshot snapshot, int64 job_id, Status *status);

} // namespace pgq_ext::queue
