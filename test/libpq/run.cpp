// A run of the consumers test: see run.hpp.
#include "run.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace model;

static constexpr Time kSecond = 1000000;
static constexpr int kProducers = 3, kConsumers = 6, kEventsPerSecond = 150;

// Between two looks at something that is waited for, or two turns of the operator.
static void
Pause()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

Run::Run(std::string directory, uint64_t seed, int seconds)
	: directory_(std::move(directory)), seed_(seed), started_(Now()), load_ends_(started_ + seconds * kSecond),
	  dice_(seed), journals_{directory_ + "/operator"}, journal_(journals_[0]), server_("operator")
{
}

// Whatever happens, no process is left behind.
Run::~Run()
{
	for (const auto &[pid, process] : processes_)
		kill(pid, SIGKILL);
}

bool
Run::Go()
{
	for (int i = 0; i < kProducers; i++)
		Start("producer", Produce);
	for (int i = 0; i < kConsumers; i++)
		Start("consumer", Consume);
	for (; Now() < load_ends_; Pause()) {
		Cancel();
		Inspect();
		Replace(false);
	}
	while (Running("producer") > 0)
		Replace(true);
	RetrySome();
	bool drained = Drain();
	for (const auto &[pid, process] : processes_)
		kill(pid, SIGTERM);
	while (!processes_.empty())
		Replace(true);
	return drained;
}

void
Run::Start(const std::string &kind, Work work)
{
	size_t number = journals_.size();
	std::string name = kind + " " + std::to_string(number);
	Assignment assignment{name, directory_ + "/" + std::to_string(number), seed_ * 1000 + number, load_ends_,
						  kEventsPerSecond};
	journals_.push_back(assignment.journal);
	pid_t pid = fork();
	if (pid == 0) {
		int status = 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		try {
			work(assignment);
		} catch (const std::exception &error) {
			std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
			status = 1;
		}
		_exit(status);
	}
	processes_[pid] = {kind, work};
}

// Looks after processes that have ended: who died on purpose gets a successor.
void
Run::Replace(bool wait)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0; wait = false) {
		Process ended = processes_[pid];
		processes_.erase(pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == kDied)
			Start(ended.kind, ended.work);
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			journal_.WriteError("a " + ended.kind + " ended with status " + std::to_string(status));
	}
}

int
Run::Running(const std::string &kind) const
{
	int count = 0;
	for (const auto &[pid, process] : processes_)
		count += process.kind == kind;
	return count;
}

void
Run::Cancel()
{
	if (!dice_.Chance(40))
		return;
	Rows jobs = server_.Call("SELECT job_id FROM pgq_jobs WHERE status IN ('pending', 'in_progress')"
							 " ORDER BY random() LIMIT 1");
	if (jobs.Count() > 0)
		Operate(Act::Cancel, "SELECT pgq_cancel($1)", jobs.At(0, 0));
}

// The extension's own look at its tables, in the midst of things.
void
Run::Inspect()
{
	for (const std::string &violation : Ask("SELECT c::text FROM pgq_check() c"))
		journal_.WriteError("pgq_check: " + violation);
}

void
Run::RetrySome()
{
	Rows jobs = server_.Call("SELECT job_id FROM pgq_jobs WHERE status = 'failed'");
	for (int i = 0; i < (jobs.Count() + 1) / 2; i++)
		Operate(Act::Retry, "SELECT pgq_retry($1)", jobs.At(i, 0));
}

void
Run::Operate(Act act, const char *sql, const char *job)
{
	Operation o{act, Result::Done, std::atoll(job), 0, Now(), 0};
	bool done = *server_.Call(sql, {job}).At(0, 0) == 't';
	o.after = Now();
	if (done)
		journal_.Write(o);
}

// Waits until no job is live.
bool
Run::Drain()
{
	server_.Call("SELECT pgq_sync('50 s')");
	// Hot keys are behind when the load ends, the more so the longer it was.
	Time deadline = Now() + 60 * kSecond + 5 * (load_ends_ - started_);
	while (!Ask("SELECT job_id FROM pgq_jobs WHERE status IN ('pending', 'in_progress') LIMIT 1").empty()) {
		if (Now() > deadline)
			return false;
		Inspect();
		Replace(false);
		Pause();
	}
	std::printf("# %lld s of load, drained %lld s later\n", static_cast<long long>((load_ends_ - started_) / kSecond),
				static_cast<long long>((Now() - load_ends_) / kSecond));
	return true;
}

History
Run::Collect()
{
	History history;
	for (const std::string &journal : journals_)
		ReadJournal(journal, &history);
	CollectJobs(&history);
	Rows expected = server_.Call("SELECT handler, source, id, k, p, placed FROM expected");
	for (int i = 0; i < expected.Count(); i++) {
		Event event = {static_cast<Source>(std::atoi(expected.At(i, 1))), std::atoll(expected.At(i, 2))};
		history.expected.push_back(
			{expected.At(i, 0), event, expected.TextAt(i, 3), std::atoi(expected.At(i, 4)), *expected.At(i, 5) == 't'});
	}
	Rows effects = server_.Call("SELECT job_id, attempt FROM effects");
	for (int i = 0; i < effects.Count(); i++)
		history.effects.emplace_back(std::atoll(effects.At(i, 0)), std::atoi(effects.At(i, 1)));
	return history;
}

void
Run::CollectJobs(History *history)
{
	Rows rows = server_.Call("SELECT job_id, handler, queue, status, serialization_key, position, "
							 "priority, attempt, failures,"
							 " max_attempts, source, id, result->>'by', (extract(epoch FROM "
							 "finished_at) * 1000000)::bigint"
							 " FROM made ORDER BY position");
	for (int i = 0; i < rows.Count(); i++) {
		auto number = [&](int column) { return std::atoll(rows.At(i, column)); };
		auto small = [&](int column) { return std::atoi(rows.At(i, column)); };
		Job job{};
		job.id = number(0);
		job.handler = rows.At(i, 1);
		job.queue = rows.At(i, 2);
		job.status = rows.At(i, 3);
		job.key = rows.TextAt(i, 4);
		if (rows.TextAt(i, 5))
			job.position = number(5);
		job.priority = small(6);
		job.attempt = small(7);
		job.failures = small(8);
		job.max_attempts = small(9);
		job.event = {static_cast<Source>(small(10)), number(11)};
		if (rows.TextAt(i, 12))
			job.result_attempt = small(12);
		job.finished = number(13);
		history->jobs.push_back(job);
	}
}

std::vector<std::string>
Run::Ask(const char *sql)
{
	std::vector<std::string> lines;
	Rows rows = server_.Call(sql);
	for (int i = 0; i < rows.Count(); i++)
		lines.push_back(rows.At(i, 0));
	return lines;
}
