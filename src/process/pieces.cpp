// Large transactions, piece by piece: see pieces.hpp.
#include "process/pieces.hpp"

#include "pg/fault.hpp"
#include "process/writer.hpp"

extern "C" {
#include "storage/latch.h"
#include "utils/wait_event.h"
}

namespace pgq_ext::process {

// A piece, and as many parked jobs as are placed at once: later events wait for no more than this.
constexpr int64 kPieceRows = 5000;
constexpr int64 kPieceBytes = 8 * 1024 * 1024;
constexpr int kPlaceAtOnce = 5000;

// Parked jobs that were in somebody's hands are looked at again after this time.
constexpr int kPlaceAgainMs = 500;

static Pieces *
First(const PiecesState &state)
{
	return state.unfinished != NIL ? (Pieces *)linitial(state.unfinished) : nullptr;
}

bool
IsParking(const PiecesState &state)
{
	return state.parking.all || state.parking.handlers != NIL;
}

XLogRecPtr
FirstUnfinished(const PiecesState &state)
{
	const Pieces *first = First(state);

	return first != nullptr ? first->row.commit_lsn : InvalidXLogRecPtr;
}

Pieces *
ReservePieces(Enqueuer *enqueuer, int64 *next_position)
{
	decode::Large *rows = enqueuer->batch->large;

	if (rows == nullptr)
		return nullptr;
	Pieces *pieces = (Pieces *)MemoryContextAllocZero(enqueuer->context, sizeof(Pieces));
	pieces->rows = rows;
	pieces->row.first_position = *next_position;
	pieces->row.next_position = *next_position;
	pieces->row.end_position = *next_position += rows->capacity;
	pieces->row.commit_lsn = rows->commit_lsn;
	pieces->row.committed_at = rows->committed_at;
	pieces->row.xids = rows->xids;
	pieces->row.nxids = rows->nxids;
	queue::AddLargeTransaction(enqueuer->extension.schema, pieces->row);
	return pieces;
}

// From now on jobs of these handlers are parked. A request names a handler that is none of ours to know.
static void
Park(queue::Parking *parking, const decode::Large *rows)
{
	for (int i = 0; i < rows->nshapes; i++) {
		const decode::Source *source = rows->shapes[i]->source;
		parking->all |= source->requests && rows->shapes[i]->nrows > 0;
		for (int j = 0; j < source->nhandlers; j++)
			parking->handlers = lappend(parking->handlers, pstrdup(source->handlers[j]->name));
	}
}

void
AddPieces(Enqueuer *enqueuer, Pieces *pieces)
{
	PiecesState *state = &enqueuer->pieces;

	if (pieces == nullptr)
		return;
	MemoryContext old = MemoryContextSwitchTo(enqueuer->context);
	state->unfinished = lappend(state->unfinished, pieces);
	if (XLogRecPtrIsInvalid(state->parked_from))
		state->parked_from = pieces->row.commit_lsn;
	Park(&state->parking, pieces->rows);
	MemoryContextSwitchTo(old);
}

static void
StopParking(PiecesState *state)
{
	list_free_deep(state->parking.handlers);
	state->parking = queue::Parking{};
	state->placed_up_to = 0;
}

bool
HasPieces(const PiecesState &state)
{
	const Pieces *first = First(state);

	if (state.place_again_at > GetCurrentTimestamp())
		return false;
	return first != nullptr ? first->rows != nullptr : IsParking(state);
}

static int64
PlaceBefore(const PiecesState &state)
{
	const Pieces *first = First(state);

	return first != nullptr ? first->row.first_position : PG_INT64_MAX;
}

// Gives some of the jobs their places that are parked before what is to be converted next. *all: there are no more.
static bool
Place(Enqueuer *enqueuer, bool *all)
{
	PiecesState *state = &enqueuer->pieces;
	int64 end = PlaceBefore(*state);
	queue::Placing placing = {};

	if (!InTransaction(enqueuer, [&]() {
			placing = queue::PlaceParked(enqueuer->extension.schema, end, kPlaceAtOnce);
			pg::FaultPoint("after_placing");
		}))
		return false;
	*all = placing.placed < kPlaceAtOnce && !placing.busy;
	// Who waits for commits to have become jobs does not wait for those that somebody is just changing.
	if (placing.placed < kPlaceAtOnce && First(*state) == nullptr)
		state->parked_from = InvalidXLogRecPtr;
	if (*all)
		state->placed_up_to = end;
	if (placing.placed < kPlaceAtOnce && placing.busy) {
		state->place_again_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kPlaceAgainMs);
		NoteDue(enqueuer->db, state->place_again_at);
	}
	return true;
}

// Within the piece's transaction: how far it is now.
static void
Record(Oid schema, const queue::LargeTransaction &row, bool last)
{
	if (last)
		queue::RemoveLargeTransaction(schema, row);
	else
		queue::AdvanceLargeTransaction(schema, row);
}

static bool
ConvertPiece(Enqueuer *enqueuer, Pieces *pieces, bool *last)
{
	decode::Batch *piece = enqueuer->pieces.piece;
	queue::LargeTransaction row;
	queue::Tally tally;

	decode::ResetBatch(piece);
	*last = decode::TakePiece(pieces->rows, piece, kPieceRows, kPieceBytes);
	bool installed = WithCare(enqueuer, pieces->made != nullptr ? queue::Care::Full : queue::Care::None, [&](queue::Care care) {
		queue::Terms terms = TermsNow(enqueuer, care);
		terms.parking = nullptr;
		terms.made = pieces->made;
		row = pieces->row;
		tally = ConvertBatch(enqueuer, piece, terms, &row.next_position);
		row.rows_converted += piece->nrows;
		Record(enqueuer->extension.schema, row, *last);
		pg::FaultPoint("before_piece_commit");
	});
	if (!installed)
		return false;
	pg::FaultPoint("after_piece");
	pieces->row = row;
	Committed(enqueuer, enqueuer->progress, piece, tally);
	return true;
}

static void
RemoveFirst(PiecesState *state)
{
	Pieces *first = First(*state);

	decode::FreeLarge(first->rows);
	state->unfinished = list_delete_first(state->unfinished);
	pfree(first);
}

static bool
ConvertNext(Enqueuer *enqueuer)
{
	PiecesState *state = &enqueuer->pieces;
	Pieces *first = First(*state);
	bool last = false;

	if (!ConvertPiece(enqueuer, first, &last))
		return false;
	if (last)
		RemoveFirst(state);
	NoteProgress(enqueuer);
	return true;
}

bool
WorkOnPieces(Enqueuer *enqueuer)
{
	PiecesState *state = &enqueuer->pieces;
	bool all = true;

	if (!HasPieces(*state))
		return true;
	if (!IsParking(*state) || state->placed_up_to >= PlaceBefore(*state))
		return ConvertNext(enqueuer);
	if (!Place(enqueuer, &all))
		return false;
	if (all && First(*state) == nullptr)
		StopParking(state);
	return true;
}

bool
PlaceLeftOver(Enqueuer *enqueuer)
{
	PiecesState *state = &enqueuer->pieces;

	while (First(*state) == nullptr && IsParking(*state) && HasPieces(*state)) {
		CHECK_FOR_INTERRUPTS();
		if (!WorkOnPieces(enqueuer))
			return false;
	}
	return true;
}

bool
FinishPieces(Enqueuer *enqueuer)
{
	const PiecesState &state = enqueuer->pieces;

	while (First(state) != nullptr) {
		CHECK_FOR_INTERRUPTS();
		if (First(state)->rows == nullptr)
			elog(ERROR, "a large transaction has not been read again");
		if (HasPieces(state)) {
			if (!WorkOnPieces(enqueuer))
				return false;
		} else {
			(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPlaceAgainMs, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
	}
	return true;
}

} // namespace pgq_ext::process
