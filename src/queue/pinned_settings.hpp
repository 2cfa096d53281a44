// Settings of the enqueuer that nobody's configuration changes.
#pragma once

namespace pgq_ext::queue {

// Pins every setting that changes how values are rendered as text, so that a key never changes its meaning, and those that
// could stop the enqueuer by what is meant for others; once a process, before any expression runs.
void PinSettings();

} // namespace pgq_ext::queue
