-- Completing many jobs in one call finds each by its id, whatever lies between them: ids close together in one walk along
-- the index, ids far apart one by one.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
SELECT count(pgq_enqueue('work', to_jsonb(n))) FROM generate_series(1, 2000) n;
SELECT pgq_sync('1 min');
CREATE TABLE held AS SELECT job_id, attempt, (args #>> '{}')::int AS n FROM pgq_dequeue(2000);
-- searches: how often the index was searched from its root.
CREATE FUNCTION complete(which text) RETURNS TABLE (completed bigint, searches bigint, as_asked boolean, left_over boolean)
LANGUAGE plpgsql AS $$
DECLARE
    asked bigint[];
    done bigint[];
    before bigint;
    after bigint;
BEGIN
    EXECUTE 'SELECT array_agg(job_id ORDER BY job_id) FROM held WHERE ' || which INTO asked;
    before := pg_stat_get_xact_numscans('pgq_job_pkey'::regclass);
    done := ARRAY(SELECT id FROM pgq_complete(asked, ARRAY(SELECT attempt FROM held WHERE job_id = ANY (asked) ORDER BY job_id)) id);
    after := pg_stat_get_xact_numscans('pgq_job_pkey'::regclass);
    RETURN QUERY SELECT cardinality(done)::bigint, after - before, asked = done,
                        EXISTS (SELECT FROM pgq_jobs WHERE job_id = ANY (asked) AND status <> 'completed');
    DELETE FROM held WHERE job_id = ANY (asked);
END $$;

SELECT * FROM complete('n = 1');
SELECT * FROM complete('n BETWEEN 2 AND 100');
-- Every other one, every third, every fourth; then those in between.
SELECT * FROM complete('n BETWEEN 101 AND 300 AND n % 2 = 0');
SELECT * FROM complete('n BETWEEN 301 AND 600 AND n % 3 = 0');
SELECT * FROM complete('n BETWEEN 601 AND 1000 AND n % 4 = 0');
SELECT * FROM complete('n <= 1000');
-- From one end to the other, with little in between, over places where jobs were.
SELECT * FROM complete('n IN (1001, 1002, 2000)');

-- What isn't there, or not in this hand-out, is left out, wherever it is among the others.
SELECT min(job_id) AS first, max(job_id) AS last FROM held \gset
SELECT count(*), count(*) FILTER (WHERE id IN (SELECT job_id FROM held)) AS held
  FROM pgq_complete(ARRAY(SELECT i FROM generate_series(:first - 5, :first + 20) i), ARRAY(SELECT 1 FROM generate_series(1, 26))) id;
SELECT id - :first AS id FROM pgq_complete(
    ARRAY[:first + 30, :first + 31, :first + 31, :first + 32, :first + 33, :first + 2, :first + 34],
    ARRAY[2, 2, 1, 0, 1, 1, 1]) id ORDER BY id;
SELECT id - :first AS id FROM pgq_complete(
    ARRAY[9223372036854775807, :first + 40, -9223372036854775808, -1, 0, :last, :last + 1], ARRAY[1, 1, 1, 1, 1, 1, 1]) id
 WHERE id <> :last;
SELECT id FROM pgq_complete('{9223372036854775806,9223372036854775807}'::bigint[], '{1,1}') id;
SELECT id FROM pgq_complete('{-9223372036854775808,-9223372036854775807}'::bigint[], '{1,1}') id;
SELECT status, count(*) FROM pgq_jobs GROUP BY status ORDER BY status;
DROP FUNCTION complete;
DROP TABLE held;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
