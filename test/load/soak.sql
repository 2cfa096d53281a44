-- What the soak test adds to the load of schema.sql: jobs with a time and with idempotency keys, large COPYs, and workers
-- that stay connected. See test/t/080_soak.pl.

-- The same key again gives the same job.
CREATE PROCEDURE enqueue(client text, times int) LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
BEGIN
    FOR i IN 1 .. times LOOP
        INSERT INTO direct SELECT pgq_enqueue('direct', '{}', 'k' || i % 6, 'fast', run_at => clock_timestamp() + random() * interval '2 s');
        id := pgq_enqueue('direct', '{}', queue => 'fast', idempotency_key => client || clock_timestamp());
        INSERT INTO direct VALUES (id);
        COMMIT;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;

CREATE PROCEDURE copy_many(events int) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY short (k) FROM PROGRAM %L', 'seq ' || events);
END $$;

CREATE PROCEDURE work_in_bulk() LANGUAGE sql AS $$
    SELECT pgq_complete(array_agg(job_id), array_agg(attempt)) FROM pgq_dequeue(500, lease => '1 s') HAVING count(*) > 0;
    SELECT pg_sleep(0.02);
$$;

-- Half of the jobs run longer than was thought; a few are then given back, or are to be tried later.
CREATE PROCEDURE work_long() LANGUAGE plpgsql AS $$
DECLARE
    job record;
BEGIN
    FOR job IN SELECT * FROM pgq_dequeue(10, 'fast', lease => '1 s', worker => 'long') LOOP
        PERFORM pgq_extend(job.job_id, job.attempt, '2 s') WHERE random() < 0.5;
        CASE WHEN random() < 0.05 THEN
            PERFORM pgq_release(job.job_id, job.attempt, '10 ms');
        WHEN random() < 0.05 THEN
            PERFORM pgq_fail(job.job_id, job.attempt, 'later', '10 ms');
        ELSE
            PERFORM pgq_complete(job.job_id, job.attempt, '{"done": true}');
        END CASE;
    END LOOP;
    COMMIT;
    PERFORM pg_sleep(0.02);
END $$;
