SELECT pgq_complete({ids}::bigint[], {attempts}::int[])
