// The calls that a consumer makes: see caller.hpp.
#include "caller.hpp"

#include <set>

using namespace model;

static const char *const kDequeue = "SELECT job_id, attempt, (extract(epoch FROM lease_until) * "
									"1000000)::bigint FROM pgq_dequeue($1, $2, $3, $4)";
static const char *const kNext = "SELECT job_id, attempt, (extract(epoch FROM lease_until) * 1000000)::bigint "
								 "FROM pgq_next($1::bigint[], $2::int[], $3, $4, $5, $6)";

// The tokens as two array parameters.
static std::vector<Text>
Arrays(const std::vector<Token> &tokens)
{
	std::string ids, attempts;
	for (const Token &token : tokens) {
		ids += (ids.empty() ? "" : ",") + std::to_string(token.job);
		attempts += (attempts.empty() ? "" : ",") + std::to_string(token.attempt);
	}
	return {"{" + ids + "}", "{" + attempts + "}"};
}

// A completion of each token in one call, given the rows of those that counted.
static std::vector<Operation>
Completions(const std::vector<Token> &tokens, const Rows &rows, Time before, Time after)
{
	std::set<int64_t> completed;
	for (int i = 0; i < rows.Count(); i++)
		completed.insert(std::stoll(rows.At(i, 0)));
	std::vector<Operation> operations;
	for (const Token &token : tokens)
		operations.push_back({Act::Complete, completed.count(token.job) ? Result::Done : Result::Omitted, token.job,
							  token.attempt, before, after});
	return operations;
}

Caller::Caller(const Assignment &assignment)
	: name_(assignment.name), dice_(assignment.seed), journal_(assignment.journal), server_(assignment.name)
{
}

std::vector<Token>
Caller::ClaimBy(const char *sql, std::vector<Text> parameters)
{
	parameters.insert(parameters.end(), {std::to_string(demand_.batch), demand_.queue, demand_.lease, name_});
	claim_before_ = Now();
	Rows rows = Ask(sql, parameters);
	claim_after_ = Now();
	std::vector<Token> tokens;
	for (int i = 0; i < rows.Count(); i++)
		tokens.push_back({std::stoll(rows.At(i, 0)), std::stoi(rows.At(i, 1)), std::stoll(rows.At(i, 2))});
	if (rows.Count() > demand_.batch)
		journal_.WriteError("a dequeue of " + std::to_string(demand_.batch) + " gave " + std::to_string(rows.Count()));
	return tokens;
}

std::vector<Token>
Caller::Dequeue()
{
	return ClaimBy(kDequeue, {});
}

std::vector<Token>
Caller::Next(const std::vector<Token> &done, std::vector<Operation> *completions)
{
	std::vector<Text> arrays = Arrays(done);
	std::vector<Token> tokens = ClaimBy(kNext, arrays);
	Rows rows = Ask("SELECT job_id FROM pgq_jobs JOIN unnest($1::bigint[], $2::int[]) AS done (job_id, attempt) "
					"USING (job_id, attempt) WHERE status = 'completed'",
					arrays);
	*completions = Completions(done, rows, claim_before_, claim_after_);
	return tokens;
}

void
Caller::WriteClaims(const std::vector<Token> &tokens, Result result)
{
	for (const Token &token : tokens)
		journal_.Write(
			Operation{Act::Claim, result, token.job, token.attempt, claim_before_, claim_after_, token.until});
}

void
Caller::DequeueAndLeave()
{
	journal_.WriteBlindClaim(demand_.batch);
	server_.SendAndLeave(kDequeue, {std::to_string(demand_.batch), demand_.queue, demand_.lease, name_});
}

Operation
Caller::Call(Act act, const Token &token)
{
	std::string job = std::to_string(token.job), attempt = std::to_string(token.attempt);
	const char *sql = "SELECT pgq_complete($1, $2, jsonb_build_object('by', $2::int))";
	std::vector<Text> parameters = {job, attempt};
	if (act == Act::Fail) {
		sql = "SELECT pgq_fail($1, $2, 'chance', $3)";
		parameters.push_back(dice_.Chance(40) ? Milliseconds(1, 40) : Text());
	} else if (act == Act::Release) {
		sql = "SELECT pgq_release($1, $2, $3)";
		parameters.push_back(dice_.Chance(40) ? Milliseconds(1, 40) : Text());
	} else if (act == Act::Extend) {
		sql = "SELECT (extract(epoch FROM pgq_extend($1, $2, $3)) * 1000000)::bigint";
		parameters.push_back(dice_.Chance(70) ? Milliseconds(40, 400) : Text());
	}
	Operation o{act, Result::Done, token.job, token.attempt, Now(), 0};
	try {
		std::string answer = Ask(sql, parameters).At(0, 0);
		if (act == Act::Extend)
			o.until = std::stoll(answer);
		else if (answer == "f")
			o.result = act == Act::Fail ? Result::Dead : Result::Again;
	} catch (const Refused &refused) {
		if (refused.sqlstate != "PQ001")
			throw;
		o.result = Result::Refused;
	}
	o.after = Now();
	return o;
}

std::vector<Operation>
Caller::CompleteAll(const std::vector<Token> &tokens)
{
	Time before = Now();
	Rows rows = Ask("SELECT * FROM pgq_complete($1::bigint[], $2::int[])", Arrays(tokens));
	return Completions(tokens, rows, before, Now());
}

Operation
Caller::CompleteBesideWrite(const Token &token)
{
	server_.Call("SAVEPOINT completion");
	Operation o = Call(Act::Complete, token);
	if (o.result != Result::Done) {
		server_.Call("ROLLBACK TO completion");
		return o;
	}
	Ask("INSERT INTO effects VALUES ($1, $2)", {std::to_string(token.job), std::to_string(token.attempt)});
	o.effect = true;
	return o;
}

void
Caller::Begin()
{
	static const char *const kBegin[] = {"BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ",
										 "BEGIN ISOLATION LEVEL SERIALIZABLE"};
	int level = dice_.Between(0, 3);
	server_.Call(kBegin[level]);
	may_conflict_ = level >= 2;
}

void
Caller::Rollback()
{
	server_.Call("ROLLBACK");
	may_conflict_ = false;
}

void
Caller::Commit(const std::vector<Operation> &operations)
{
	Time before = Now();
	Ask("COMMIT");
	Time after = Now();
	may_conflict_ = false;
	for (Operation o : operations) {
		if (o.result == Result::Done) {
			o.before = before;
			o.after = after;
		}
		journal_.Write(o);
	}
}

Rows
Caller::Ask(const char *sql, const std::vector<Text> &parameters)
{
	try {
		return server_.Call(sql, parameters);
	} catch (const Refused &refused) {
		if (refused.sqlstate == "40001" && may_conflict_)
			throw Conflict();
		throw;
	}
}

Text
Caller::Milliseconds(int low, int high)
{
	return std::to_string(dice_.Between(low, high)) + " ms";
}
