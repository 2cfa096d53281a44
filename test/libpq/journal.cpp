// Writes and reads the journals of producers and consumers.
#include "journal.hpp"

#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>

using namespace model;

Time
Now()
{
	timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * Time{1000000} + now.tv_nsec / 1000;
}

Journal::Journal(const std::string &file) : file_(std::fopen(file.c_str(), "wx"))
{
	if (!file_)
		throw std::runtime_error("can't write " + file);
	// Lines go to the system at once: the process may be ended at any time.
	std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
}

Journal::~Journal()
{
	std::fclose(file_);
}

void
Journal::Write(const Operation &o)
{
	std::fprintf(file_, "operation %d %d %ld %d %ld %ld %ld %d\n", static_cast<int>(o.act), static_cast<int>(o.result),
				 o.job, o.attempt, o.before, o.after, o.until, o.effect);
}

void
Journal::Write(const Transaction &transaction)
{
	std::fprintf(file_, "transaction %ld %ld", transaction.before, transaction.after);
	for (const Event &event : transaction.events)
		std::fprintf(file_, " %d %ld", static_cast<int>(event.source), event.id);
	std::fprintf(file_, "\n");
}

void
Journal::WriteBlindClaim(int jobs)
{
	std::fprintf(file_, "blind %d\n", jobs);
}

void
Journal::WriteError(const std::string &error)
{
	std::string line = error;
	for (char &c : line)
		if (c == '\n')
			c = ' ';
	std::fprintf(file_, "error %s\n", line.c_str());
}

void
ReadJournal(const std::string &file, History *history)
{
	std::ifstream lines(file);
	for (std::string line; std::getline(lines, line);) {
		std::istringstream words(line);
		std::string kind;
		words >> kind;
		if (kind == "operation") {
			int act, result, effect;
			Operation o{};
			words >> act >> result >> o.job >> o.attempt >> o.before >> o.after >> o.until >> effect;
			o.act = static_cast<Act>(act);
			o.result = static_cast<Result>(result);
			o.effect = effect;
			history->operations.push_back(o);
		} else if (kind == "transaction") {
			Transaction transaction;
			words >> transaction.before >> transaction.after;
			int source;
			for (Event event; words >> source >> event.id;) {
				event.source = static_cast<Source>(source);
				transaction.events.push_back(event);
			}
			history->transactions.push_back(transaction);
			continue;
		} else if (kind == "blind") {
			int64_t jobs = 0;
			words >> jobs;
			history->blind_claims += jobs;
		} else if (kind == "error") {
			history->errors.push_back(line.substr(6));
		}
		if (!words && kind != "error")
			throw std::runtime_error(file + " has a bad line: " + line);
	}
}
