SELECT * FROM pgq_next({ids}::bigint[], {attempts}::int[], {batch})
