// Workers that do nothing but claim and complete, for any protocol, at the same cost for the client. Connects as every libpq
// program does: PGHOST, PGDATABASE, ... Prints what came of it, a name and a number a line; times of calls in microseconds.
#include "client.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

static void
PrintTimes(const char *name, std::vector<double> times)
{
	std::sort(times.begin(), times.end());
	for (int percent : {50, 99}) {
		size_t at = times.size() * percent / 100;
		std::printf("%s_p%d\t%.1f\n", name, percent, times.empty() ? 0 : times[at]);
	}
}

// Lets all clients work at once, and returns the seconds from the first's start to the last's end.
static double
WorkAll(Run *run, const std::vector<std::unique_ptr<Client>> &clients)
{
	std::vector<std::thread> threads;
	Clock::time_point start = Clock::now();

	run->deadline =
		start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(run->options.seconds));
	for (const auto &client : clients)
		threads.emplace_back([&client] {
			try {
				client->Work();
			} catch (const std::exception &error) {
				std::fprintf(stderr, "%s\n", error.what());
				std::exit(1);
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	return std::chrono::duration<double>(Clock::now() - start).count();
}

static void
Print(const Run &run, const std::vector<std::unique_ptr<Client>> &clients, double seconds)
{
	auto completed = static_cast<double>(run.completed.load());
	std::vector<double> claims;
	std::vector<double> completions;
	int64_t empty_claims = 0;

	for (const auto &client : clients) {
		claims.insert(claims.end(), client->claims.begin(), client->claims.end());
		completions.insert(completions.end(), client->completions.begin(), client->completions.end());
		empty_claims += client->empty_claims;
	}
	std::printf("jobs\t%.0f\nseconds\t%.3f\nrate\t%.1f\n", completed, seconds, completed / seconds);
	std::printf("empty_claims\t%lld\n", static_cast<long long>(empty_claims));
	PrintTimes("claim", std::move(claims));
	PrintTimes("complete", std::move(completions));
}

int
main(int argc, char **argv)
{
	Options options = ReadOptions(argc, argv);
	try {
		Protocol protocol = ReadProtocol(options.protocol, options.batch == 1);
		Run run{options, protocol, {}};
		std::vector<std::unique_ptr<Client>> clients;

		for (int i = 0; i < options.clients; i++)
			clients.push_back(std::make_unique<Client>(run, i));
		double seconds = WorkAll(&run, clients);
		Print(run, clients, seconds);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	return 0;
}
