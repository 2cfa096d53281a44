// A consumer that does everything that consumers do: completes, fails, gives back, forgets, comes too late, dies.
#include "caller.hpp"

#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

using namespace model;

namespace {

volatile std::sig_atomic_t stop_requested = 0;

class Consumer : private Caller {
  public:
	explicit Consumer(const Assignment &assignment) : Caller(assignment), load_ends_(assignment.load_ends) {}

	void
	Run()
	{
		while (!stop_requested) {
			calm_ = Now() > load_ends_;
			try {
				for (int i = dice_.Between(0, 2); i > 0; i--)
					ActAsZombie();
				std::vector<Token> tokens = Claim();
				if (tokens.empty())
					std::this_thread::sleep_for(std::chrono::milliseconds(1)); // one poll of many
				if (dice_.Chance(25))
					CompleteTogether(&tokens);
				for (Token &token : tokens)
					Treat(token);
			} catch (const Conflict &) {
				Rollback();
			} catch (const std::runtime_error &error) {
				journal_.WriteError(name_ + ": " + error.what());
				server_.Disconnect();
				if (++errors_ == kTooManyErrors)
					throw;
			}
		}
	}

  private:
	// Takes some jobs, in one of the ways in which that can go right or wrong.
	std::vector<Token>
	Claim()
	{
		demand_ = {dice_.Chance(90) ? dice_.Between(1, 8) : 60, dice_.Chance(50) ? "fast" : "slow",
				   dice_.Chance(80) ? Milliseconds(60, 400) : Text()};
		int way = calm_ ? 1 : dice_.Between(1, 100);
		if (way <= 70)
			return ClaimNext();
		if (way <= 71) {
			DequeueAndLeave();
			return {};
		}
		Begin();
		if (way <= 80) {
			server_.Call("SAVEPOINT claim");
			WriteClaims(Dequeue(), Result::RolledBack);
			server_.Call("ROLLBACK TO claim");
		}
		std::vector<Token> tokens = Dequeue();
		if (way <= 88) {
			WriteClaims(tokens, Result::RolledBack);
			Rollback();
			return {};
		}
		if (way <= 89) {
			WriteClaims(tokens, Result::Unknown);
			server_.SendAndLeave("COMMIT");
			return {};
		}
		if (way <= 90)
			Die();
		std::vector<Operation> completions;
		if (way <= 93)
			for (const Token &token : tokens)
				completions.push_back(CompleteBesideWrite(token));
		Commit(completions);
		WriteClaims(tokens, Result::Done);
		return completions.empty() ? tokens : std::vector<Token>();
	}

	// Takes some, and completes what is done.
	std::vector<Token>
	ClaimNext()
	{
		std::vector<Token> done;
		std::vector<Operation> completions;
		for (const auto &entry : done_)
			done.push_back(entry.second);
		done_.clear();
		std::vector<Token> tokens = done.empty() ? Dequeue() : Next(done, &completions);
		for (const Operation &o : completions)
			journal_.Write(o);
		WriteClaims(tokens, Result::Done);
		return tokens;
	}

	// What becomes of a job that was handed out.
	void
	Treat(Token token)
	{
		// Some jobs never succeed: they become dead letters.
		bool hopeless = token.job % 25 == 0;
		int fate = hopeless ? dice_.Between(51, 80) : calm_ ? dice_.Between(1, 50) : dice_.Between(1, 100);
		if (fate <= 15) {
			done_.insert_or_assign(token.job, token); // an earlier hand-out that is still there is over
		} else if (fate <= 40) {
			Use(Act::Complete, token);
		} else if (fate <= 50) {
			CompleteInTransaction(token);
		} else if (fate <= 64) {
			Use(Act::Fail, token);
		} else if (fate <= 73) {
			Use(Act::Release, token);
		} else if (fate <= 80) {
			if (Use(Act::Extend, token) == Result::Done)
				Treat(token);
		} else if (fate <= 85) {
			Forge(token);
			Treat(token);
		} else if (fate <= 93) {
			if (!FailToComplete(token))
				Treat(token);
		} else if (fate <= 94) {
			Leave(token);
		} else if (fate <= 95 && dice_.Chance(50)) {
			Die();
		} else {
			Remember(token);
		}
	}

	// One call about a job, in a transaction of its own.
	Result
	Use(Act act, Token &token)
	{
		Operation o = Call(act, token);
		journal_.Write(o);
		if (o.result == Result::Done && act == Act::Extend)
			token.until = o.until;
		else if (dice_.Chance(15))
			Remember(token); // and uses it again, though it is over
		return o.result;
	}

	// Completes beside a business write, in one transaction; or something comes between.
	void
	CompleteInTransaction(const Token &token)
	{
		Begin();
		Operation o = CompleteBesideWrite(token);
		if (!calm_ && dice_.Chance(5))
			Die();
		if (o.result == Result::Done && !calm_ && dice_.Chance(10)) {
			o.result = Result::Unknown;
			o.before = o.after = Now();
			journal_.Write(o);
			server_.SendAndLeave("COMMIT");
			return;
		}
		Commit({o});
	}

	// Completes in a transaction or a subtransaction that is rolled back. True when the token was refused.
	bool
	FailToComplete(const Token &token)
	{
		Begin();
		Operation o = CompleteBesideWrite(token);
		o.effect = false;
		if (o.result == Result::Done)
			o.result = Result::RolledBack;
		if (dice_.Chance(50)) {
			server_.Call("ROLLBACK TO completion");
			Commit({});
		} else {
			Rollback();
		}
		journal_.Write(o);
		return o.result == Result::Refused;
	}

	// Completes several at a time, among them the tokens that are over.
	void
	CompleteTogether(std::vector<Token> *tokens)
	{
		std::vector<Token> together;
		std::set<int64_t> jobs;
		tokens->insert(tokens->end(), zombies_.begin(), zombies_.end());
		for (const Token &token : *tokens)
			if (jobs.insert(token.job).second)
				together.push_back(token);
		tokens->clear();
		zombies_.clear();
		for (const Operation &o : CompleteAll(together))
			journal_.Write(o);
	}

	// Uses a token that no worker has: of another attempt, or another job.
	void
	Forge(const Token &token)
	{
		static const Act kActs[] = {Act::Complete, Act::Fail, Act::Release, Act::Extend};
		Token forged = token;
		int way = dice_.Between(1, 3);
		if (way == 1)
			forged.attempt += 1000;
		else if (way == 2)
			forged.job += 1000000;
		else if (--forged.attempt == 0)
			return;
		journal_.Write(Call(dice_.Pick(kActs), forged));
	}

	// The worker that comes back late: with a token whose lease has run out, or that is over.
	void
	ActAsZombie()
	{
		if (zombies_.empty() || (zombies_.front().until > Now() && dice_.Chance(80)))
			return;
		Token token = zombies_.front();
		zombies_.pop_front();
		int way = dice_.Between(1, 10);
		Act act = way <= 5 ? Act::Complete : way <= 7 ? Act::Fail : way <= 8 ? Act::Release : Act::Extend;
		if (Use(act, token) == Result::Done && act == Act::Extend)
			Treat(token);
	}

	// Ends the connection with a completion on its way.
	void
	Leave(const Token &token)
	{
		Time now = Now();
		journal_.Write(Operation{Act::Complete, Result::Unknown, token.job, token.attempt, now, now});
		server_.SendAndLeave("SELECT pgq_complete($1::bigint, $2::int)",
							 {std::to_string(token.job), std::to_string(token.attempt)});
	}

	// As if killed: connection and transaction end, and all tokens are forgotten.
	[[noreturn]] void
	Die()
	{
		_exit(kDied);
	}

	void
	Remember(const Token &token)
	{
		if (zombies_.size() < 30)
			zombies_.push_back(token);
	}

	static constexpr int kTooManyErrors = 200;

	const Time load_ends_;
	bool calm_ = false; // the load has ended: no deaths and the like any more, so that there is an end
	int errors_ = 0;
	std::deque<Token> zombies_;     // tokens to be used late
	std::map<int64_t, Token> done_; // by job; to be completed with the next claim
};

} // namespace

void
Consume(const Assignment &assignment)
{
	std::signal(SIGTERM, [](int) { stop_requested = 1; });
	Consumer(assignment).Run();
}
