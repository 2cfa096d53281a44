-- What workers call: dequeue, complete, fail, extend, release; and what becomes of their jobs.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
SELECT pgq_create_queue('twice', max_attempts => 2, backoff => '1 ms');

-- Waits until the condition on pgq_jobs holds.
CREATE FUNCTION wait_until(condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    holds boolean;
BEGIN
    FOR i IN 1..1000 LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM pgq_jobs WHERE %s)', condition) INTO holds;
        EXIT WHEN holds;
        PERFORM pgq_sync();
    END LOOP;
    IF NOT holds THEN
        RAISE 'it never came to this: %', condition;
    END IF;
END $$;

CREATE TABLE held (job_id bigint, attempt int, n text);
CREATE FUNCTION take(batch_size int, queue text DEFAULT 'default', lease interval DEFAULT '1 h')
RETURNS TABLE (serialization_key text, n text, attempt int) LANGUAGE sql AS $$
    WITH taken AS (SELECT * FROM pgq_dequeue(batch_size, queue, lease, 'tester')),
         kept AS (INSERT INTO held SELECT job_id, attempt, args ->> 'n' FROM taken)
    SELECT serialization_key, args ->> 'n', attempt FROM taken
$$;
CREATE FUNCTION add(serialization_key text, n int, queue text DEFAULT 'default', priority int DEFAULT 0)
RETURNS void LANGUAGE sql AS $$
    SELECT pgq_enqueue('work', jsonb_build_object('n', n), serialization_key, queue, priority)
$$;
CREATE VIEW jobs AS
    SELECT serialization_key AS key, args ->> 'n' AS n, status, attempt, failures, last_error, worker, result
      FROM pgq_jobs ORDER BY job_id;

-- One job of a key at a time, in order; keys and jobs without one don't wait.
SELECT add('a', 1), add('a', 2), add('b', 3), add(NULL, 4), add(NULL, 5), add('', 6);
SELECT pgq_sync();
SELECT * FROM take(100);
SELECT * FROM take(100);
SELECT n, pgq_complete(job_id, attempt, '"done"') FROM held WHERE n = '1';
SELECT * FROM take(100);
SELECT * FROM jobs;
-- What was completed by this hand-out may be completed again: nothing happens.
SELECT n, pgq_complete(job_id, attempt, '"twice"') FROM held WHERE n = '1';
SELECT result FROM jobs WHERE n = '1';
-- Many: each once, in any order, and what isn't current is left out.
SELECT count(*) FROM pgq_complete((SELECT array_agg(job_id ORDER BY n DESC) || array_agg(job_id) FROM held),
                                  (SELECT array_agg(attempt ORDER BY n DESC) || array_agg(attempt) FROM held));
SELECT count(*) FROM pgq_complete((SELECT array_agg(job_id) FROM held), (SELECT array_agg(attempt) FROM held));
SELECT * FROM pgq_complete('{}'::bigint[], '{}'::int[]);
TRUNCATE held;
SELECT DISTINCT status FROM jobs;

-- Priority orders keys against each other, never the jobs of one.
SELECT add('p', 11, priority => 9), add('p', 12, priority => -9), add('q', 13, priority => 5), add(NULL, 14, priority => 7);
SELECT pgq_sync();
SELECT * FROM take(1);
SELECT * FROM take(100);
SELECT count(*) FROM held, pgq_complete(job_id, attempt);
SELECT * FROM take(100);
SELECT count(*) FROM held, pgq_complete(job_id, attempt) AS done WHERE n = '12' AND done;
TRUNCATE held;

-- A failed job runs again later; meanwhile its key waits.
SELECT add('f', 21, 'twice'), add('f', 22, 'twice');
SELECT pgq_sync();
SELECT * FROM take(1, 'twice');
SELECT pgq_fail(job_id, attempt, 'first') FROM held;
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM take(1, 'twice')) LOOP PERFORM pgq_sync(); END LOOP; END $$;
SELECT * FROM jobs WHERE key = 'f';
SELECT pgq_fail(job_id, attempt, 'late') FROM held WHERE attempt = 1;
-- After max_attempts it is a dead letter, and the key moves on.
SELECT pgq_fail(job_id, attempt, repeat('x', 10000)) FROM held WHERE attempt = 2;
SELECT status, failures, octet_length(last_error) FROM jobs WHERE n = '21';
SELECT * FROM take(1, 'twice');
SELECT pgq_complete(job_id, attempt) FROM held WHERE n = '22';
-- A dead letter can be put back: its failures are forgotten, its attempts go on.
SELECT pgq_retry(job_id), pgq_retry(-1) FROM pgq_jobs WHERE args ->> 'n' = '21';
SELECT pgq_sync();
SELECT status, attempt, failures, last_error IS NOT NULL AS has_error FROM jobs WHERE n = '21';
SELECT * FROM take(1, 'twice');
SELECT pgq_complete(job_id, attempt) FROM held WHERE attempt = 3;
TRUNCATE held;

-- A lease that runs out is a failure, when the job is handed out again.
SELECT add('l', 31, 'twice');
SELECT pgq_sync();
SELECT * FROM take(1, 'twice', '1 us');
SELECT wait_until($$args ->> 'n' = '31' AND status = 'pending'$$);
-- Until then the job is still its worker's.
SELECT pgq_extend(job_id, attempt, '1 us') < clock_timestamp() + interval '1 s' FROM held;
SELECT wait_until($$args ->> 'n' = '31' AND status = 'pending'$$);
SELECT * FROM take(1, 'twice', '1 us');
SELECT wait_until($$args ->> 'n' = '31' AND status = 'failed'$$);
SELECT * FROM jobs WHERE n = '31';
SELECT pgq_complete(job_id, attempt) FROM held WHERE attempt = 2;
TRUNCATE held;

-- Extending never shortens.
SELECT add(NULL, 41), add('r', 42);
SELECT pgq_sync();
SELECT * FROM take(1, lease => '2 h');
SELECT pgq_extend(job_id, attempt, '1 h') > clock_timestamp() + interval '90 min' AS kept,
       pgq_extend(job_id, attempt, '3 h') > clock_timestamp() + interval '150 min' AS prolonged FROM held;
-- Giving back isn't a failure.
SELECT pgq_release(job_id, attempt) FROM held;
SELECT pgq_release(job_id, attempt) FROM held;
SELECT * FROM take(1);
SELECT pgq_release(job_id, attempt, '1 day') FROM held WHERE attempt = 2;
SELECT n, status, attempt, failures FROM jobs WHERE n IN ('41', '42');
SELECT * FROM take(100);

-- A cancelled job's worker learns it; so does nobody else.
SELECT pgq_cancel(job_id), pgq_cancel(job_id) FROM held WHERE n = '42';
SELECT pgq_complete(job_id, attempt) FROM held WHERE n = '42';
SELECT pgq_cancel(job_id) FROM held WHERE n = '41' AND attempt = 1;
SELECT n, status FROM jobs WHERE n IN ('41', '42');
SELECT pgq_cancel(-1);

-- Two calls in one statement.
SELECT add('s', 51), add('s', 52);
SELECT pgq_sync();
SELECT * FROM take(1);
SELECT pgq_complete(job_id, attempt) AS first, pgq_complete(job_id, attempt) AS second,
       (SELECT count(*) FROM pgq_dequeue(5)) AS next
  FROM held WHERE n = '51';

-- Large values pass through unharmed, also keys that differ only at their end.
CREATE TABLE large AS SELECT string_agg(md5(i::text), '') AS body FROM generate_series(1, 20000) i;
SELECT count(pgq_enqueue('big', jsonb_build_object('n', body), body || tail)) FROM large, unnest(ARRAY['x', 'y', 'x']) AS tail;
SELECT pgq_sync();
SELECT length(serialization_key), right(serialization_key, 1), args ->> 'n' = body FROM large, pgq_dequeue(10);
SELECT count(*) FROM pgq_jobs j, pgq_complete(j.job_id, j.attempt) WHERE j.handler = 'big' AND j.status = 'in_progress';
SELECT length(serialization_key), right(serialization_key, 1), args ->> 'n' = body, status
  FROM large, pgq_jobs WHERE handler = 'big' ORDER BY job_id;

SELECT * FROM pgq_check();
DROP VIEW jobs;
DROP EXTENSION pgq_ext;
