// One client: a connection that claims and completes until there is nothing left to do or time is over.
#pragma once

#include "options.hpp"
#include "protocol.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

// What the clients share.
struct Run {
	const Options &options;
	const Protocol &protocol;
	Clock::time_point deadline;
	std::atomic<int64_t> completed{0};

	bool
	Goes() const
	{
		return completed < options.jobs && Clock::now() < deadline;
	}
};

class Client {
  public:
	Client(Run &run, int number);
	~Client() { PQfinish(connection_); }
	Client(const Client &) = delete;
	Client &operator=(const Client &) = delete;

	void Work();

	// Microseconds of each call.
	std::vector<double> claims;
	std::vector<double> completions;
	int64_t empty_claims = 0;

  private:
	void Prepare(const char *name, const Statement &statement);
	void Claim(const char *name, const Statement &statement);
	void Complete();
	std::string Value(const std::string &parameter) const;
	PGresult *Execute(const char *name, const Statement &statement);
	void TakeRange();
	void Forget();

	Run &run_;
	std::string name_;
	PGconn *connection_;
	int64_t low_; // the range that comes next, and the end of this client's part
	int64_t high_ = 0;
	int64_t end_;
	// The jobs in hand, and the same as SQL arrays.
	std::vector<std::string> ids_;
	std::vector<std::string> attempts_;
	std::string id_array_ = "{}";
	std::string attempt_array_ = "{}";
};
