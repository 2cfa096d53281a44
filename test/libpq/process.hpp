// What the processes of the consumers test have in common, and the two kinds of them.
#pragma once

#include "journal.hpp"
#include "server.hpp"

#include <iterator>
#include <random>
#include <string>

// The random choices of one process.
class Dice {
  public:
	explicit Dice(uint64_t seed) : engine_(seed) {}
	int
	Between(int low, int high)
	{
		return std::uniform_int_distribution<int>(low, high)(engine_);
	}
	bool
	Chance(int percent)
	{
		return Between(1, 100) <= percent;
	}
	double
	Part()
	{
		return std::uniform_real_distribution<double>(0, 1)(engine_);
	}
	template <class List>
	auto &
	Pick(List &list)
	{
		return list[Between(0, static_cast<int>(std::size(list)) - 1)];
	}

  private:
	std::mt19937_64 engine_;
};

// A connection that can also be lost on purpose.
class Connection : public Server {
  public:
	using Server::Server;

	// Sends a statement and cuts the connection without reading what came of it.
	void SendAndLeave(const char *sql, const std::vector<Text> &parameters = {});
};

struct Assignment {
	std::string name;
	std::string journal;
	uint64_t seed;
	model::Time load_ends; // until then producers produce and consumers misbehave
	int events_per_second; // of one producer
};

// The exit code of a process that died on purpose: another one takes its place.
constexpr int kDied = 3;

void Produce(const Assignment &assignment);
// Consumes until SIGTERM.
void Consume(const Assignment &assignment);
