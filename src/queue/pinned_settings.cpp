// Settings of the enqueuer that nobody's configuration changes: see pinned_settings.hpp.
#include "queue/pinned_settings.hpp"

#include "pg/postgres.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace pgq_ext::queue {

void
PinSettings()
{
	static const char *const pinned[][2] = {
		{"role", "none"},
		{"search_path", "pg_catalog, pg_temp"},
		{"DateStyle", "ISO, YMD"},
		{"IntervalStyle", "postgres"},
		{"TimeZone", "UTC"},
		{"bytea_output", "hex"},
		{"extra_float_digits", "1"},
		{"quote_all_identifiers", "off"},
		{"standard_conforming_strings", "on"},
		{"xmlbinary", "base64"},
		{"lc_monetary", "C"},
		{"lc_numeric", "C"},
		{"lc_time", "C"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"row_security", "on"},
		{"session_replication_role", "origin"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"idle_session_timeout", "0"},
		{"temp_file_limit", "-1"},
		{"client_min_messages", "error"},
	};

	for (auto &setting : pinned)
		SetConfigOption(setting[0], setting[1], PGC_SUSET, PGC_S_OVERRIDE);
}

} // namespace pgq_ext::queue
