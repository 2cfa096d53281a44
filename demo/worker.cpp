// A worker for a queue of pgq_ext: takes jobs, runs up to --slots of them at a time, and completes
// them.
//
// Made to be copied (with server.hpp). kHandlers is yours: it says what each kind of job does. The
// rest is what every worker needs. It asks for as many jobs as it has free slots, never more;
// completes what is done in one call; extends the lease of what takes long; lets go of a job that
// the server says is no longer its own; comes back after a lost connection; and on SIGTERM finishes
// what it has begun before it leaves.
//
//     worker [--queue NAME] [--slots N] [--lease SECONDS] [--name NAME] [--log FILE] [--drain yes]
//
// It connects as every libpq program does (PGHOST, PGDATABASE, ...). With --drain it leaves when
// the queue is empty.
#include "server.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>

using Clock = std::chrono::system_clock;
using std::chrono::milliseconds;

struct Job {
	std::string id, attempt; // together the token that says which hand-out this is
	std::string handler, args;
	Text key, error;
	Clock::time_point started, ended;
	std::thread slot;
};

// What each kind of job does. No other job of the same serialization key runs meanwhile. To fail,
// throw. A job can come twice (after a crash, or a lost lease): do what may be done twice, or write
// in the transaction that completes it.
static const std::map<std::string, std::function<void(const Job &)>> kHandlers = {
	{"ledger", [](const Job &) { /* the receipt would be sent here */ }},
};

static volatile std::sig_atomic_t stop_requested = 0;

class Worker {
  public:
	explicit Worker(std::map<std::string, std::string> options)
		: options_(std::move(options)), slots_(std::stoul(options_["--slots"])), lease_(std::stoi(options_["--lease"])),
		  server_(options_["--name"])
	{
		if (const std::string &file = options_["--log"]; !file.empty()) {
			log_ = std::fopen(file.c_str(), "a");
			if (!log_)
				throw std::runtime_error("can't write " + file);
		}
	}

	~Worker()
	{
		for (Job &job : running_)
			job.slot.join();
		if (log_)
			std::fclose(log_);
	}

	void
	Work()
	{
		milliseconds pause = kShortPause;
		while (!stop_requested || !running_.empty() || !done_.empty()) {
			try {
				int collected = Collect(pause);
				Finish();
				ExtendLeases();
				int claimed = stop_requested ? 0 : Claim();
				bool idle = collected + claimed == 0;
				if (idle && running_.empty() && options_.count("--drain") && QueueIsEmpty())
					break;
				pause = idle ? std::min(pause * 2, kLongPause) : kShortPause;
			} catch (const ConnectionLost &lost) {
				// What runs goes on, and what is done waits in done_ for the next connection.
				std::fprintf(stderr, "%s: %s", options_["--name"].c_str(), lost.what());
				if (stop_requested && running_.empty())
					break;
				std::this_thread::sleep_for(kLostPause);
			}
		}
	}

  private:
	// Takes as many jobs as there are free slots and starts them; returns how many.
	int
	Claim()
	{
		size_t free = slots_ - running_.size();
		if (free == 0)
			return 0;
		Rows rows = server_.Call("SELECT job_id, attempt, handler, args, serialization_key"
								 " FROM pgq_dequeue($1, $2, make_interval(secs => $3), $4)",
								 {std::to_string(free), options_["--queue"], options_["--lease"], options_["--name"]});
		for (int i = 0; i < rows.Count(); i++) {
			Job &job = running_.emplace_back();
			job.id = rows.At(i, 0);
			job.attempt = rows.At(i, 1);
			job.handler = rows.At(i, 2);
			job.args = rows.At(i, 3);
			job.key = rows.TextAt(i, 4);
			job.slot = std::thread([this, &job] { Run(&job); });
		}
		return rows.Count();
	}

	// In a slot: runs the job and hands it back.
	void
	Run(Job *job)
	{
		job->started = Clock::now();
		try {
			kHandlers.at(job->handler)(*job);
		} catch (const std::exception &error) {
			job->error = error.what();
		}
		job->ended = Clock::now();
		std::lock_guard<std::mutex> guard(mutex_);
		ended_.push_back(job);
		job_ended_.notify_one();
	}

	// Moves the jobs that ended to done_; waits for the first one, but not longer than patience.
	int
	Collect(milliseconds patience)
	{
		std::vector<Job *> ended;
		{
			std::unique_lock<std::mutex> lock(mutex_);
			job_ended_.wait_for(lock, patience, [this] { return !ended_.empty(); });
			ended.swap(ended_);
		}
		for (Job *job : ended) {
			job->slot.join();
			auto place =
				std::find_if(running_.begin(), running_.end(), [job](const Job &running) { return &running == job; });
			done_.splice(done_.end(), running_, place);
		}
		return static_cast<int>(ended.size());
	}

	// Tells the server what came of the jobs in done_.
	void
	Finish()
	{
		std::string ids, attempts;
		for (auto job = done_.begin(); job != done_.end();) {
			if (job->error) {
				bool ours = Holds("SELECT pgq_fail($1, $2, $3)", {job->id, job->attempt, job->error});
				Write(*job, ours ? "failed" : "not ours");
				job = done_.erase(job);
				continue;
			}
			ids += (ids.empty() ? "" : ",") + job->id;
			attempts += (attempts.empty() ? "" : ",") + job->attempt;
			++job;
		}
		if (done_.empty())
			return;
		Rows rows = server_.Call("SELECT * FROM pgq_complete($1::bigint[], $2::int[])",
								 {"{" + ids + "}", "{" + attempts + "}"});
		std::set<std::string> completed;
		for (int i = 0; i < rows.Count(); i++)
			completed.insert(rows.At(i, 0));
		for (const Job &job : done_)
			Write(job, completed.count(job.id) ? "completed" : "not ours");
		done_.clear();
	}

	void
	ExtendLeases()
	{
		if (Clock::now() < extend_at_)
			return;
		for (const Job &job : running_)
			Holds("SELECT pgq_extend($1, $2, make_interval(secs => $3))", {job.id, job.attempt, options_["--lease"]});
		extend_at_ = Clock::now() + lease_ / 3;
	}

	// Makes a call about one job; false when the job is no longer ours, and whoever has it now
	// decides.
	bool
	Holds(const char *sql, const std::vector<Text> &parameters)
	{
		try {
			server_.Call(sql, parameters);
			return true;
		} catch (const Refused &refused) {
			if (refused.sqlstate != "PQ001")
				throw;
			return false;
		}
	}

	bool
	QueueIsEmpty()
	{
		return server_
				   .Call("SELECT FROM pgq_queues WHERE queue = $1"
						 " AND ready + waiting + delayed + running > 0",
						 {options_["--queue"]})
				   .Count() == 0;
	}

	// A line of the log, as COPY reads it: worker, job, attempt, key, outcome, start, end, args.
	void
	Write(const Job &job, const char *outcome)
	{
		if (!log_)
			return;
		auto escaped = [](const std::string &text) {
			std::string copy;
			for (char c : text)
				copy += c == '\\' ? "\\\\" : c == '\t' ? "\\t" : c == '\n' ? "\\n" : std::string(1, c);
			return copy;
		};
		auto seconds = [](Clock::time_point time) {
			return std::chrono::duration<double>(time.time_since_epoch()).count();
		};
		std::fprintf(log_, "%s\t%s\t%s\t%s\t%s\t%.6f\t%.6f\t%s\n", options_["--name"].c_str(), job.id.c_str(),
					 job.attempt.c_str(), job.key ? escaped(*job.key).c_str() : "\\N", outcome, seconds(job.started),
					 seconds(job.ended), escaped(job.args).c_str());
	}

	// How long to wait for a slot before asking the server again: short while there is work, longer
	// when there is none.
	static constexpr milliseconds kShortPause{1}, kLongPause{16}, kLostPause{500};

	std::map<std::string, std::string> options_;
	const size_t slots_;
	const std::chrono::seconds lease_;
	Server server_;
	std::FILE *log_ = nullptr;
	std::list<Job> running_, done_;
	Clock::time_point extend_at_{};
	std::mutex mutex_; // guards ended_, the way from the slots back to the thread that speaks to
					   // the server
	std::condition_variable job_ended_;
	std::vector<Job *> ended_;
};

int
main(int argc, char **argv)
{
	std::map<std::string, std::string> options = {
		{"--queue", "default"}, {"--slots", "8"}, {"--lease", "30"}, {"--name", "worker"}, {"--log", ""}};
	for (int i = 1; i + 1 < argc; i += 2)
		options[argv[i]] = argv[i + 1];
	std::signal(SIGTERM, [](int) { stop_requested = 1; });
	std::signal(SIGINT, [](int) { stop_requested = 1; });
	try {
		Worker(options).Work();
		return 0;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", options["--name"].c_str(), error.what());
		return 1;
	}
}
