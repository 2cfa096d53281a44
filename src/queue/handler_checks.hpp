// What a handler may be defined with.
#pragma once

#include "pg/postgres.hpp"

namespace pgq_ext::queue {

// invalid_parameter_value (22023) unless the name has 1 to 255 bytes.
void CheckName(const char *handler);

// undefined_object (42704) for an unknown queue. Keeps the queue from being dropped until the transaction ends.
void LockQueue(Oid schema, const char *queue);

// insufficient_privilege (42501) unless owner may see every row and column of source: he holds SELECT on the table, and
// its row-level security does not apply to him.
void CheckReadable(Oid source, Oid owner);

// wrong_object_type (42809) unless source is a permanent table of somebody else's; and CheckReadable.
void CheckSource(Oid schema, Oid source, Oid owner);

} // namespace pgq_ext::queue
