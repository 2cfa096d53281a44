// What there is to say about the current database's enqueuer, copied at one moment.
#pragma once

#include "process/shared.hpp"

namespace pgq_ext::process {

struct Report {
	const char *state; // what pgq_enqueuer.state shows
	pid_t pid;         // 0: none
	bool streams;      // it converts
	char slot_name[NAMEDATALEN];
	XLogRecPtr last_lsn;
	TimestampTz last_converted_at; // 0: never
	char last_error[512];          // empty: none
	TimestampTz last_error_at;
	uint64 events, jobs, errors;
	uint64 latency[kLatencyBuckets];
};

void MakeReport(Report *report);

} // namespace pgq_ext::process
