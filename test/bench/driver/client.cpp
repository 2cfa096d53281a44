// The loop of one client: see client.hpp.
#include "client.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

// How long a client that got nothing leaves the others alone.
constexpr auto kNap = std::chrono::milliseconds(1);

constexpr const char *kUniqueViolation = "23505";

static double
MicrosecondsSince(Clock::time_point start)
{
	return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

Client::Client(Run &run, int number) : run_(run), name_("bench " + std::to_string(number)), connection_(PQconnectdb(""))
{
	int64_t share = (run.options.last - run.options.first + 1) / run.options.clients;

	low_ = run.options.first + number * share;
	end_ = low_ + share;
	if (PQstatus(connection_) != CONNECTION_OK)
		throw std::runtime_error(PQerrorMessage(connection_));
	Prepare("claim", run.protocol.claim);
	Prepare("complete", run.protocol.complete);
	Prepare("next", run.protocol.next);
}

void
Client::Prepare(const char *name, const Statement &statement)
{
	if (!statement.Present())
		return;
	PGresult *result = PQprepare(connection_, name, statement.sql.c_str(), 0, nullptr);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		throw std::runtime_error(PQerrorMessage(connection_));
	PQclear(result);
}

std::string
Client::Value(const std::string &parameter) const
{
	if (parameter == "batch")
		return std::to_string(run_.options.batch);
	if (parameter == "client")
		return name_;
	if (parameter == "low")
		return std::to_string(low_);
	if (parameter == "high")
		return std::to_string(high_);
	if (parameter == "ids")
		return id_array_;
	if (parameter == "attempts")
		return attempt_array_;
	if (parameter == "id")
		return ids_.at(0);
	if (parameter == "attempt")
		return attempts_.at(0);
	throw std::runtime_error("unknown parameter: " + parameter);
}

PGresult *
Client::Execute(const char *name, const Statement &statement)
{
	std::vector<std::string> texts;
	std::vector<const char *> values;

	for (const std::string &parameter : statement.parameters)
		texts.push_back(Value(parameter));
	for (const std::string &text : texts)
		values.push_back(text.c_str());
	PGresult *result =
		PQexecPrepared(connection_, name, static_cast<int>(values.size()), values.data(), nullptr, nullptr, 0);
	ExecStatusType status = PQresultStatus(result);
	const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	// pg-boss's library takes a claim that collides with another one for an empty one.
	if (code != nullptr && std::string(code) == kUniqueViolation)
		return result;
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		throw std::runtime_error(PQerrorMessage(connection_));
	return result;
}

static std::string
Array(const std::vector<std::string> &elements)
{
	std::string array = "{";

	for (const std::string &element : elements)
		array += (array.size() > 1 ? "," : "") + element;
	return array + "}";
}

void
Client::Forget()
{
	ids_.clear();
	attempts_.clear();
	id_array_ = attempt_array_ = "{}";
}

void
Client::Claim(const char *name, const Statement &statement)
{
	Clock::time_point start = Clock::now();
	PGresult *result = Execute(name, statement);
	claims.push_back(MicrosecondsSince(start));

	int id = PQfnumber(result, run_.options.id.c_str());
	int attempt = PQfnumber(result, run_.options.attempt.c_str());
	Forget();
	for (int row = 0; row < PQntuples(result); row++) {
		ids_.emplace_back(PQgetvalue(result, row, id));
		attempts_.emplace_back(attempt >= 0 ? PQgetvalue(result, row, attempt) : "1");
	}
	id_array_ = Array(ids_);
	attempt_array_ = Array(attempts_);
	PQclear(result);
}

// What is refused isn't work done.
void
Client::Complete()
{
	Clock::time_point start = Clock::now();
	PGresult *result = Execute("complete", run_.protocol.complete);
	completions.push_back(MicrosecondsSince(start));

	std::string count = PQcmdTuples(result);
	if (run_.options.checked && count != std::to_string(ids_.size()))
		throw std::runtime_error("completed " + count + " of " + std::to_string(ids_.size()));
	PQclear(result);
	run_.completed += static_cast<int64_t>(ids_.size());
}

// The next batch of ids from this client's own part; none when it has been worked through.
void
Client::TakeRange()
{
	high_ = std::min<int64_t>(low_ + run_.options.batch, end_) - 1;
}

// What is in hand at the end of a run with next.sql stays so: it is one batch a client, and isn't counted.
void
Client::Work()
{
	bool one_call = run_.protocol.next.Present();
	bool has_range = run_.options.last >= run_.options.first;

	while (run_.Goes() && !(has_range && low_ >= end_)) {
		if (has_range)
			TakeRange();
		auto in_hand = static_cast<int64_t>(ids_.size());
		Claim(one_call ? "next" : "claim", one_call ? run_.protocol.next : run_.protocol.claim);
		if (one_call)
			run_.completed += in_hand;
		if (has_range)
			low_ = high_ + 1;
		if (ids_.empty()) {
			empty_claims++;
			std::this_thread::sleep_for(kNap);
		} else if (!one_call)
			Complete();
	}
}
