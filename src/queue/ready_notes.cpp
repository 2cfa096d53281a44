// Notes of a transaction for the marks: see ready_notes.hpp.
#include "queue/ready_notes.hpp"

namespace pgq_ext::queue {

// Beyond so many, notes of the same queue and priority become one, for all jobs from the first of them on.
constexpr int kMaxNotes = 64;

struct ReadyNote {
	ReadyMarks *marks;
	ReadyOrder order;
	bool all;
	bool taken;
};

static ReadyNote notes[kMaxNotes];
static int nnotes;
static bool too_many; // queues and priorities: all marks are to be forgotten

static void
Join(const ReadyNote &note)
{
	for (int i = 0; i < nnotes; i++) {
		if (notes[i].marks != note.marks || notes[i].order.priority != note.order.priority || notes[i].taken != note.taken)
			continue;
		notes[i].order.position = Min(notes[i].order.position, note.order.position);
		notes[i].all = true;
		return;
	}
	too_many = true;
}

static void
Add(const ReadyNote &note)
{
	if (note.marks == nullptr)
		return;
	if (nnotes < kMaxNotes)
		notes[nnotes++] = note;
	else
		Join(note);
}

void
NoteReady(ReadyMarks *marks, ReadyOrder order)
{
	Add(ReadyNote{marks, order, false, false});
}

void
NoteTaken(ReadyMarks *marks, ReadyOrder order)
{
	Add(ReadyNote{marks, order, false, true});
}

void
AddReadyNotes(ClaimPlan *plan)
{
	plan->full |= too_many;
	for (int i = 0; i < nnotes; i++)
		if (!notes[i].taken && notes[i].marks == plan->marks)
			AddToPlan(plan, notes[i].order, notes[i].all);
}

void
ForgetReadyNotes()
{
	nnotes = 0;
	too_many = false;
}

void
PublishReadyNotes(bool committed)
{
	for (int i = 0; i < nnotes; i++)
		if (notes[i].taken != committed)
			LowerMark(notes[i].marks, notes[i].order, notes[i].all);
	if (too_many)
		ResetReadyMarks();
	ForgetReadyNotes();
}

void
PublishReadyNotesOfSubtransaction()
{
	for (int i = 0; i < nnotes; i++)
		if (notes[i].taken)
			LowerMark(notes[i].marks, notes[i].order, notes[i].all);
	if (too_many)
		ResetReadyMarks();
}

} // namespace pgq_ext::queue
