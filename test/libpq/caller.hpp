// The calls that a consumer makes, each written down in its journal.
#pragma once

#include "process.hpp"

// A hand-out, as its worker knows it.
struct Token {
	int64_t job;
	int attempt;
	model::Time until;
};

// A transaction that the server could not serialize: nothing of it has happened.
struct Conflict {};

class Caller {
  public:
	explicit Caller(const Assignment &assignment);

	// What to ask for; the next dequeues use it.
	struct Demand {
		int batch;
		std::string queue;
		Text lease;
	};
	std::vector<Token> Dequeue();
	// The same, and completes what is done in that call; adds what became of each. No job may be in it twice, and no token
	// may have been used before: the server does not say, so it is asked afterwards.
	std::vector<Token> Next(const std::vector<Token> &done, std::vector<model::Operation> *completions);
	// Writes down what became of the last dequeue.
	void WriteClaims(const std::vector<Token> &tokens, model::Result result);
	// Dequeues, and never learns what the answer was.
	void DequeueAndLeave();

	// One call about one job. The caller writes it down when its transaction has come to an end.
	model::Operation Call(model::Act act, const Token &token);
	// Completes all in one call; gives what became of each. No job may be in it twice.
	std::vector<model::Operation> CompleteAll(const std::vector<Token> &tokens);
	// In an open transaction: a completion and its business write. A refusal leaves nothing but the refusal.
	model::Operation CompleteBesideWrite(const Token &token);

	// Transactions, in an isolation level by chance.
	void Begin();
	void Rollback();
	// Commits; what the transaction had done has happened only by that, and is written down then.
	void Commit(const std::vector<model::Operation> &operations);
	// The statement of a transaction that may be one too many for the server. Throws Conflict then.
	Rows Ask(const char *sql, const std::vector<Text> &parameters = {});

  protected:
	Text Milliseconds(int low, int high);

	const std::string name_;
	Dice dice_;
	Journal journal_;
	Connection server_;
	Demand demand_{};

  private:
	// Dequeues by this SQL, with these parameters before the usual ones.
	std::vector<Token> ClaimBy(const char *sql, std::vector<Text> parameters);

	model::Time claim_before_ = 0, claim_after_ = 0; // of the last dequeue
	bool may_conflict_ = false;
};
