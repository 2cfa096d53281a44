// A run of the consumers test: its processes, and the part of an operator who cancels, retries and looks around.
#pragma once

#include "process.hpp"

#include <map>
#include <sys/types.h>

class Run {
  public:
	// Writes the journals into the directory; there is load for so many seconds from now on.
	Run(std::string directory, uint64_t seed, int seconds);
	~Run();
	Run(const Run &) = delete;
	Run &operator=(const Run &) = delete;

	// True when every job has come to its end in time.
	bool Go();
	// What has happened, when all is over.
	model::History Collect();
	// The rows that a query gives, each as one line.
	std::vector<std::string> Ask(const char *sql);

  private:
	using Work = void (*)(const Assignment &);
	struct Process {
		std::string kind;
		Work work;
	};

	void Start(const std::string &kind, Work work);
	void Replace(bool wait);
	int Running(const std::string &kind) const;
	void Cancel();
	void Inspect();
	void RetrySome();
	void Operate(model::Act act, const char *sql, const char *job);
	bool Drain();
	void CollectJobs(model::History *history);

	const std::string directory_;
	const uint64_t seed_;
	const model::Time started_, load_ends_;
	Dice dice_;
	std::vector<std::string> journals_; // file names, of all processes there were
	Journal journal_;                   // the operator's
	Server server_;
	std::map<pid_t, Process> processes_;
};
