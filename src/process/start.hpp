// How an enqueuer begins: with its slot where it stopped, or with a new slot and what was missed before it.
#pragma once

#include "process/writer.hpp"

namespace pgq_ext::process {

// Brings the enqueuer to the point where it streams. False: the extension is gone.
bool Start(Enqueuer *enqueuer);

} // namespace pgq_ext::process
