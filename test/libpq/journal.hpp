// What a producer or consumer writes down while it runs: a file per process, one line an entry.
//
// The model reads the journals of all processes. An entry is written when its answer is there, or just before the
// process cuts its connection or ends on purpose, so a journal never lacks what may have had an effect.
#pragma once

#include "model.hpp"

#include <cstdio>
#include <string>

// Microseconds since 1970, of the clock that the server's now() reads.
model::Time Now();

class Journal {
  public:
	explicit Journal(const std::string &file);
	~Journal();
	Journal(const Journal &) = delete;
	Journal &operator=(const Journal &) = delete;

	void Write(const model::Operation &operation);
	void Write(const model::Transaction &transaction);
	void WriteBlindClaim(int jobs);
	void WriteError(const std::string &error);

  private:
	std::FILE *file_;
};

// Adds what the file says to the history.
void ReadJournal(const std::string &file, model::History *history);
