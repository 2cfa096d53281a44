// What becomes of large transactions that were being converted when the enqueuer ended: the next one goes on with them.
#pragma once

#include "process/pieces.hpp"
#include "queue/catch_up.hpp"

namespace pgq_ext::process {

// At the start: what has been left unfinished. Needs a transaction.
void LoadPieces(Enqueuer *enqueuer);

// In a copied database, within a transaction: they are the original's, and what of them is still to be done makes no jobs.
void ForgetPieces(Enqueuer *enqueuer);

// Before decoding begins: tells the collector what of the stream it has to pass over.
void ResumePieces(Enqueuer *enqueuer);

// Takes a large transaction that the stream has come to again out of the batch, if there is one.
void TakeResumed(Enqueuer *enqueuer);

// When the slot was lost, their rows are collected by the catch-up: what it has to know of them, as queue::GapLarge *.
List *GapPieces(Enqueuer *enqueuer);

// The recorded snapshot of what was converted, in which these count as open; nullptr when unknown.
const char *ConvertedBut(const Enqueuer *enqueuer);

// After the catch-up, in its transaction: finds out what was made of these rows. Their order is not that of the stream.
void TakeCaughtUp(Enqueuer *enqueuer);

} // namespace pgq_ext::process
