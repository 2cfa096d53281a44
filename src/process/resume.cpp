// Large transactions left unfinished: see resume.hpp.
#include "process/resume.hpp"

#include "decode/open_xids.hpp"
#include "process/writer.hpp"
#include "queue/parking.hpp"

namespace pgq_ext::process {

void
LoadPieces(Enqueuer *enqueuer)
{
	PiecesState *state = &enqueuer->pieces;
	MemoryContext old = MemoryContextSwitchTo(enqueuer->context);
	ListCell *lc;

	foreach (lc, queue::ReadLargeTransactions(enqueuer->extension.schema)) {
		Pieces *pieces = (Pieces *)palloc0(sizeof(Pieces));
		pieces->row = *(queue::LargeTransaction *)lfirst(lc);
		state->unfinished = lappend(state->unfinished, pieces);
	}
	MemoryContextSwitchTo(old);
	// The names are not known any more; it is not for long.
	state->parked_from = FirstUnfinished(*state);
	state->parking.all = state->unfinished != NIL || queue::HasParked(enqueuer->extension.schema);
}

void
ForgetPieces(Enqueuer *enqueuer)
{
	ListCell *lc;

	foreach (lc, enqueuer->pieces.unfinished)
		queue::RemoveLargeTransaction(enqueuer->extension.schema, ((Pieces *)lfirst(lc))->row);
	list_free_deep(enqueuer->pieces.unfinished);
	enqueuer->pieces.unfinished = NIL;
}

void
ResumePieces(Enqueuer *enqueuer)
{
	const List *unfinished = enqueuer->pieces.unfinished;
	XLogRecPtr *commits = (XLogRecPtr *)palloc(Max(1, list_length(unfinished)) * sizeof(XLogRecPtr));
	ListCell *lc;

	foreach (lc, unfinished)
		commits[foreach_current_index(lc)] = ((Pieces *)lfirst(lc))->row.commit_lsn;
	decode::ResumeBehind(enqueuer->collector, enqueuer->progress.last_lsn, commits, list_length(unfinished));
	pfree(commits);
}

void
TakeResumed(Enqueuer *enqueuer)
{
	decode::Large *rows = enqueuer->batch->large;
	ListCell *lc;

	if (rows == nullptr)
		return;
	foreach (lc, enqueuer->pieces.unfinished) {
		Pieces *pieces = (Pieces *)lfirst(lc);
		if (pieces->row.commit_lsn != rows->commit_lsn)
			continue;
		decode::PassOver(rows, pieces->row.rows_converted);
		pieces->rows = rows;
		enqueuer->batch->large = nullptr;
		return;
	}
}

const char *
ConvertedBut(const Enqueuer *enqueuer)
{
	const char *converted = enqueuer->progress.converted;
	ListCell *lc;

	foreach (lc, enqueuer->pieces.unfinished) {
		const Pieces *pieces = (Pieces *)lfirst(lc);
		if (converted != nullptr)
			converted = decode::WithOpen(converted, pieces->row.xids, pieces->row.nxids);
	}
	return converted;
}

List *
GapPieces(Enqueuer *enqueuer)
{
	List *large = NIL;
	ListCell *lc;

	foreach (lc, enqueuer->pieces.unfinished) {
		Pieces *pieces = (Pieces *)lfirst(lc);
		pieces->rows = decode::NewLarge(enqueuer->context, enqueuer->owner);
		pieces->rows->commit_lsn = pieces->row.commit_lsn;
		pieces->rows->committed_at = pieces->row.committed_at;
		queue::GapLarge *gap = (queue::GapLarge *)palloc(sizeof(queue::GapLarge));
		*gap = {&pieces->row, pieces->rows};
		large = lappend(large, gap);
	}
	return large;
}

void
TakeCaughtUp(Enqueuer *enqueuer)
{
	MemoryContext old = CurrentMemoryContext;
	ListCell *lc;

	foreach (lc, enqueuer->pieces.unfinished) {
		Pieces *pieces = (Pieces *)lfirst(lc);
		decode::Rewind(pieces->rows);
		MemoryContextSwitchTo(pieces->rows->context);
		pieces->made = queue::ReadMade(enqueuer->extension.schema, pieces->row);
	}
	MemoryContextSwitchTo(old);
}

} // namespace pgq_ext::process
