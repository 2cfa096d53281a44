SELECT pgq_complete({id}::bigint, {attempt}::int)
