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
	bool forget; // too many priorities to be noted: what is known of the queue is to be forgotten
};

static ReadyNote notes[kMaxNotes];
static int nnotes;
static bool too_many; // queues: everything is to be forgotten

static void
Join(const ReadyNote &note)
{
	ReadyNote *of_queue = nullptr;

	for (int i = 0; i < nnotes; i++) {
		if (notes[i].marks != note.marks)
			continue;
		of_queue = &notes[i];
		if (notes[i].order.priority != note.order.priority || notes[i].taken != note.taken)
			continue;
		notes[i].order.position = Min(notes[i].order.position, note.order.position);
		notes[i].all = true;
		return;
	}
	if (of_queue != nullptr)
		of_queue->forget = true;
	else
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
	Add(ReadyNote{marks, order, false, false, false});
}

void
NoteTaken(ReadyMarks *marks, ReadyOrder order)
{
	Add(ReadyNote{marks, order, false, true, false});
}

void
AddReadyNotes(ClaimPlan *plan)
{
	plan->full |= too_many;
	for (int i = 0; i < nnotes; i++) {
		if (notes[i].marks != plan->marks)
			continue;
		plan->full |= notes[i].forget;
		if (!notes[i].taken)
			AddToPlan(plan, notes[i].order, notes[i].all);
	}
}

void
ForgetReadyNotes()
{
	nnotes = 0;
	too_many = false;
}

static void
Publish(const ReadyNote &note, bool committed)
{
	if (note.forget)
		ForgetMarks(note.marks);
	else if (note.taken != committed)
		LowerMark(note.marks, note.order, note.all);
}

static void
PublishAll(bool committed)
{
	for (int i = 0; i < nnotes; i++)
		Publish(notes[i], committed);
	if (too_many)
		ForgetAllMarks();
}

void
PublishReadyNotes(bool committed)
{
	PublishAll(committed);
	ForgetReadyNotes();
}

void
PublishReadyNotesOfSubtransaction()
{
	PublishAll(false);
}

} // namespace pgq_ext::queue
