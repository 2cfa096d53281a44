// The settings pgq_ext.*; doc/pgq_ext.md describes them.
#pragma once

namespace pgq_ext::settings {

extern int expression_timeout; // milliseconds; 0: none
extern int decoding_work_mem;  // kB

void Define();

} // namespace pgq_ext::settings
