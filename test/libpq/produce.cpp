// A producer: transactions of every kind that insert events and enqueue jobs.
//
// It writes down which events each committed transaction made, in which order, and the interval that its commit lies in.
#include "process.hpp"

#include <chrono>
#include <thread>

using namespace model;

namespace {

class Producer {
  public:
	explicit Producer(const Assignment &assignment)
		: assignment_(assignment), dice_(assignment.seed), journal_(assignment.journal), server_(assignment.name)
	{
	}

	void
	Run()
	{
		Time started = Now();
		int64_t made = 0;
		while (Now() < assignment_.load_ends) {
			try {
				made += RunTransaction();
			} catch (const std::runtime_error &error) {
				journal_.WriteError(assignment_.name + ": " + error.what());
				server_.Disconnect();
			}
			// Not faster than told: what has been made so far must have taken its time.
			std::this_thread::sleep_until(std::chrono::system_clock::time_point(
				std::chrono::microseconds(started + made * 1000000 / assignment_.events_per_second)));
		}
	}

  private:
	int64_t
	RunTransaction()
	{
		transaction_ = Transaction{};
		server_.Call("BEGIN");
		if (dice_.Chance(20))
			server_.Call("SET LOCAL synchronous_commit = off");
		int steps = dice_.Chance(60) ? 1 : dice_.Between(2, 5);
		for (int i = 0; i < steps; i++)
			dice_.Chance(15) ? StepInSubtransaction() : Step();
		int64_t made = static_cast<int64_t>(transaction_.events.size());
		End();
		return made;
	}

	void
	Step()
	{
		int kind = dice_.Between(1, 100);
		if (kind <= 60)
			Insert(Source::Orders, dice_.Chance(90) ? dice_.Between(1, 3) : 25);
		else if (kind <= 85)
			Insert(Source::Parcels, dice_.Between(1, 2));
		else
			Enqueue();
	}

	// A part of the transaction that is rolled back, or not.
	void
	StepInSubtransaction()
	{
		size_t events = transaction_.events.size();
		server_.Call("SAVEPOINT part");
		Step();
		if (dice_.Chance(50)) {
			server_.Call("ROLLBACK TO part");
			transaction_.events.resize(events);
		} else {
			server_.Call("RELEASE part");
		}
	}

	void
	Insert(Source source, int count)
	{
		std::string keys, numbers;
		for (int i = 0; i < count; i++) {
			keys += (i ? "," : "") + Key().value_or("NULL");
			numbers += (i ? "," : "") + std::to_string(dice_.Between(0, source == Source::Orders ? 5 : 1));
		}
		Rows rows = server_.Call(source == Source::Orders
									 ? "INSERT INTO orders (k, p) SELECT * FROM unnest($1::text[], $2::int[])"
									   " RETURNING id"
									 : "INSERT INTO parcels (k, region) SELECT * FROM"
									   " unnest($1::text[], $2::int[]) RETURNING id",
								 {"{" + keys + "}", "{" + numbers + "}"});
		for (int i = 0; i < rows.Count(); i++)
			transaction_.events.push_back({source, std::stoll(rows.At(i, 0))});
		// What follows is no event: a change of the row, and its move to another partition.
		if (dice_.Chance(20))
			server_.Call(source == Source::Orders ? "UPDATE orders SET body = 'changed' WHERE id = $1"
												  : "UPDATE parcels SET region = 1 - region WHERE id = $1",
						 {rows.At(0, 0)});
	}

	// Jobs without an event; those of 'bill' share their keys with the handler's jobs, though in another queue.
	void
	Enqueue()
	{
		Text handler = dice_.Chance(50) ? "bill" : "call", key = Key();
		Text queue = dice_.Chance(50) ? "fast" : "slow", priority = std::to_string(dice_.Between(0, 5));
		Text delay;
		if (dice_.Chance(30))
			delay = std::to_string(dice_.Between(1, 400)) + " ms";
		Rows rows = server_.Call("INSERT INTO enqueued SELECT pgq_enqueue($1, '{\"enqueued\": true}', $2, $3, $4,"
								 " clock_timestamp() + $5::interval), $1, $2, $4, clock_timestamp() + $5::interval"
								 " RETURNING job_id",
								 {handler, key, queue, priority, delay});
		transaction_.events.push_back({Source::Enqueued, std::stoll(rows.At(0, 0))});
	}

	void
	End()
	{
		if (dice_.Chance(12)) {
			server_.Call("ROLLBACK");
			return;
		}
		transaction_.before = Now();
		if (dice_.Chance(3)) {
			// Nobody will know whether it was committed, until its rows are looked for.
			transaction_.after = kNever;
			server_.SendAndLeave("COMMIT");
		} else {
			server_.Call("COMMIT");
			transaction_.after = Now();
		}
		journal_.Write(transaction_);
	}

	// From hot to cold: a sixth of the events have the first of forty keys. A tenth has none.
	Text
	Key()
	{
		if (dice_.Chance(10))
			return {};
		double part = dice_.Part();
		return "K" + std::to_string(static_cast<int>(40 * part * part));
	}

	const Assignment assignment_;
	Dice dice_;
	Journal journal_;
	Connection server_;
	Transaction transaction_;
};

} // namespace

void
Produce(const Assignment &assignment)
{
	Producer(assignment).Run();
}
