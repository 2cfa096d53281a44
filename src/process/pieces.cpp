// Large transactions, piece by piece: see pieces.hpp.
#include "process/pieces.hpp"

#include "pg/fault.hpp"
#include "process/writer.hpp"

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

// Whether jobs have to be parked.
static bool
IsParking(const PiecesState &state)
{
	return state.parking.all || state.parking.handlers != NIL || state.parking.keys != nullptr;
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

// Frees the set of keys, and puts another one in its place.
static void
SetKeys(queue::Parking *parking, HTAB *keys)
{
	if (parking->keys != nullptr)
		hash_destroy(parking->keys);
	parking->keys = keys;
}

// When nothing is to be converted, only the keys of jobs that are parked still have to be; none: nullptr.
static void
ParkOnly(PiecesState *state, HTAB *keys)
{
	list_free_deep(state->parking.handlers);
	state->parking.handlers = NIL;
	state->parking.all = false;
	SetKeys(&state->parking, keys);
	state->placed_up_to = 0;
}

bool
HasPieces(const PiecesState &state)
{
	const Pieces *first = First(state);

	if (first != nullptr)
		return first->rows != nullptr;
	return IsParking(state) && state.place_again_at <= GetCurrentTimestamp();
}

static int64
PlaceBefore(const PiecesState &state)
{
	const Pieces *first = First(state);

	return first != nullptr ? first->row.first_position : PG_INT64_MAX;
}

// All parked jobs have their places now that can have them, but for these keys. What is converted next has to be parked behind
// them; where nothing is, they are tried again.
static void
Placed(Enqueuer *enqueuer, HTAB *left)
{
	PiecesState *state = &enqueuer->pieces;

	if (hash_get_num_entries(left) == 0) {
		hash_destroy(left);
		left = nullptr;
	}
	if (First(*state) != nullptr) {
		state->placed_up_to = PlaceBefore(*state);
		SetKeys(&state->left, left);
		return;
	}
	ParkOnly(state, left);
	// Who waits for commits to have become jobs does not wait for those that somebody is just changing.
	state->parked_from = InvalidXLogRecPtr;
	if (left != nullptr) {
		state->place_again_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kPlaceAgainMs);
		NoteDue(enqueuer->db, state->place_again_at);
	}
}

// Gives some of the jobs their places that are parked before what is to be converted next. Of that a part may be parked, too:
// what was left before has to stay left until it is all there.
static bool
Place(Enqueuer *enqueuer)
{
	const PiecesState &state = enqueuer->pieces;
	int64 end = PlaceBefore(state);
	int64 until = First(state) != nullptr ? First(state)->row.next_position : end;
	MemoryContext old = MemoryContextSwitchTo(enqueuer->context);
	HTAB *left = queue::NewKeys();
	int placed = 0;

	MemoryContextSwitchTo(old);
	if (!InTransaction(enqueuer, [&]() {
			placed = queue::PlaceParked(enqueuer->extension.schema, end, until, kPlaceAtOnce, left);
			pg::FaultPoint("after_placing");
		}))
		return false;
	if (placed < kPlaceAtOnce)
		Placed(enqueuer, left);
	else
		hash_destroy(left);
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
	if (piece->nrows == 0 && !*last)
		return true;
	bool installed =
		WithCare(enqueuer, pieces->made != nullptr ? queue::Care::Full : queue::Care::None, [&](queue::Care care) {
			queue::Terms terms = TermsNow(enqueuer, care);
			terms.parking = &enqueuer->pieces.left;
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
	const PiecesState &state = enqueuer->pieces;

	if (!HasPieces(state))
		return true;
	return state.placed_up_to >= PlaceBefore(state) ? ConvertNext(enqueuer) : Place(enqueuer);
}

bool
PlaceLeftOver(Enqueuer *enqueuer)
{
	const PiecesState &state = enqueuer->pieces;

	while (First(state) == nullptr && HasPieces(state)) {
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
		if (!WorkOnPieces(enqueuer))
			return false;
	}
	return true;
}

} // namespace pgq_ext::process
