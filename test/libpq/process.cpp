// Losing a connection on purpose.
#include "process.hpp"

void
Connection::SendAndLeave(const char *sql, const std::vector<Text> &parameters)
{
	Connect();
	std::vector<const char *> values;
	for (const Text &parameter : parameters)
		values.push_back(parameter ? parameter->c_str() : nullptr);
	PQsendQueryParams(connection_, sql, static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr, 0);
	Disconnect();
}
