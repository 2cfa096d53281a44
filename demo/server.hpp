// A connection to the server for C++ programs on libpq: calls with parameters, errors as
// exceptions.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using Text = std::optional<std::string>; // nullopt is SQL's NULL

struct ConnectionLost : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// An error of the server's: the statement changed nothing, and the connection is as good as before.
struct Refused : std::runtime_error {
	Refused(const char *message, const char *code) : std::runtime_error(message), sqlstate(code ? code : "") {}
	std::string sqlstate;
};

class Rows {
  public:
	explicit Rows(PGresult *result) : result_(result, PQclear) {}
	int
	Count() const
	{
		return PQntuples(result_.get());
	}
	const char *
	At(int row, int column) const
	{
		return PQgetvalue(result_.get(), row, column);
	}
	Text
	TextAt(int row, int column) const
	{
		return PQgetisnull(result_.get(), row, column) ? Text() : Text(At(row, column));
	}
	PGresult *
	get() const
	{
		return result_.get();
	}

  private:
	std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

class Server {
  public:
	explicit Server(std::string name) : name_(std::move(name)) {}
	~Server() { Disconnect(); }
	Server(const Server &) = delete;
	Server &operator=(const Server &) = delete;

	// Runs one statement; connects first when there is no connection.
	Rows
	Call(const char *sql, const std::vector<Text> &parameters = {})
	{
		Connect();
		std::vector<const char *> values;
		for (const Text &parameter : parameters)
			values.push_back(parameter ? parameter->c_str() : nullptr);
		Rows rows(PQexecParams(connection_, sql, static_cast<int>(values.size()), nullptr, values.data(), nullptr,
							   nullptr, 0));
		ExecStatusType status = PQresultStatus(rows.get());
		if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
			return rows;
		if (PQstatus(connection_) != CONNECTION_OK)
			throw ConnectionLost(PQerrorMessage(connection_));
		throw Refused(PQerrorMessage(connection_), PQresultErrorField(rows.get(), PG_DIAG_SQLSTATE));
	}

	// Connects as every libpq program does: PGHOST, PGDATABASE, ...
	void
	Connect()
	{
		if (PQstatus(connection_) == CONNECTION_OK)
			return;
		Disconnect();
		const char *keywords[] = {"fallback_application_name", nullptr};
		const char *values[] = {name_.c_str(), nullptr};
		connection_ = PQconnectdbParams(keywords, values, 0);
		if (PQstatus(connection_) != CONNECTION_OK)
			throw ConnectionLost(PQerrorMessage(connection_));
	}

	void
	Disconnect()
	{
		PQfinish(connection_);
		connection_ = nullptr;
	}

  protected:
	PGconn *connection_ = nullptr;

  private:
	std::string name_;
};
