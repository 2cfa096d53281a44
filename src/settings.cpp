// The settings pgq_ext.*: see settings.hpp.
#include "settings.hpp"

#include "pg/postgres.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace pgq_ext::settings {

int expression_timeout = 5000;
int decoding_work_mem = 4096;

void
Define()
{
	DefineCustomIntVariable("pgq_ext.expression_timeout",
							"Sets how long a handler's expressions may take for one event.",
							"What takes longer becomes an event error. 0 turns this off.", &expression_timeout,
							expression_timeout, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
	DefineCustomIntVariable("pgq_ext.decoding_work_mem",
							"Sets the memory for transactions that are being decoded, before the largest goes to disk.",
							nullptr, &decoding_work_mem, decoding_work_mem, 64, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB,
							nullptr, nullptr, nullptr);
	MarkGUCPrefixReserved("pgq_ext");
}

} // namespace pgq_ext::settings
