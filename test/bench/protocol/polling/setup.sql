-- A source that is polled every 100 ms for jobs, into the same tables as the enqueuer writes. Keys are not looked at.
\ir ../floor/setup.sql
CREATE TABLE ev (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k text);

CREATE PROCEDURE poll() LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        WITH event AS (DELETE FROM ev RETURNING *)
        INSERT INTO floor.pgq_job (job_id, position, key_hash, visible_at, created_at, priority, attempt, failures, state, held,
                                   verified, queue, handler, serialization_key, args)
        SELECT id, id, hashtextextended(k, 0), now(), clock_timestamp(), 0, 0, 0, 'r', false, true, 'default', 'ev', k,
               jsonb_build_object('id', id, 'k', k)
          FROM event;
        COMMIT;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;
