// Converting large transactions piece by piece, beside the stream: what commits behind them doesn't wait for them.
//
// When the stream comes to the commit of a large transaction, it reserves positions for its jobs and goes on; a row of
// pgq_large_transaction says what is to be done. From then on every round of the enqueuer also converts a piece of the
// oldest one, in a transaction of its own. Until the last piece, the slot stays at the commit, and later jobs with a
// key are parked (see queue/parking.hpp). After a crash the transaction is read again, and what is done of it passed
// over: resume.hpp. A change of handlers waits for all pieces.
#pragma once

#include "decode/large.hpp"
#include "queue/large_transaction.hpp"
#include "queue/made.hpp"
#include "queue/parking.hpp"

namespace pgq_ext::process {

struct Enqueuer;

// A large transaction that is being converted.
struct Pieces {
	queue::LargeTransaction row; // as committed
	queue::Made *made;           // nullptr: nothing but what the row counts
	decode::Large *rows;         // nullptr: the stream has not come to it yet, after a restart
};

// What the enqueuer keeps of them.
struct PiecesState {
	List *unfinished;           // of Pieces *, in the order of their commits
	decode::Batch *piece;       // the one that is being converted
	queue::Parking parking;     // whose jobs have to be parked
	queue::Parking left;        // and whose of the large transaction that is being converted
	XLogRecPtr parked_from;     // those committed behind it may be; Invalid: none are
	int64 placed_up_to;         // no parked job has a lower position, but for those whose keys are left
	TimestampTz place_again_at; // when nothing else is to be done: these were in somebody's hands
};

// The first commit that is not converted completely; Invalid when there is none.
XLogRecPtr FirstUnfinished(const PiecesState &state);

// Within the transaction that writes the batch: reserves positions for its large transaction and records it. The caller
// adds what is returned with AddPieces once that has committed; nullptr: the batch has none.
Pieces *ReservePieces(Enqueuer *enqueuer, int64 *next_position);
void AddPieces(Enqueuer *enqueuer, Pieces *pieces);

// Whether there is something that WorkOnPieces could do now.
bool HasPieces(const PiecesState &state);

// Converts a piece, or gives some parked jobs their places. False: the extension is gone.
bool WorkOnPieces(Enqueuer *enqueuer);

// At the start, when no large transaction is unfinished: gives all parked jobs their places. False: the extension is gone.
bool PlaceLeftOver(Enqueuer *enqueuer);

// Converts all pieces that there are. False: the extension is gone.
bool FinishPieces(Enqueuer *enqueuer);

} // namespace pgq_ext::process
