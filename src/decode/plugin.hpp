// The output plugin: the server's decoding calls it with each change of a committed transaction, in commit order.
//
// It lives in this library and gives what it gets to the collector of the process that decodes, so there is nothing to
// write out. In any other process it refuses to start.
#pragma once

#include "decode/collector.hpp"

namespace pgq_ext::decode {

// The collector that this process's decoding feeds; must be set before a decoding context is made.
void SetPluginCollector(Collector *collector);

} // namespace pgq_ext::decode
