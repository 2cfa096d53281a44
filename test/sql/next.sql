-- pgq_next: completes and hands out in one call.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
SELECT pgq_create_queue('other');
CREATE FUNCTION add(key text, n int, queue text DEFAULT 'default') RETURNS void LANGUAGE sql AS
    'SELECT pgq_enqueue(''work'', to_jsonb(n), key, queue)';
SELECT add('a', 1), add('a', 2), add('a', 3), add(NULL, 4), add('b', 5, 'other');
SELECT pgq_sync();

-- Nothing done yet: as pgq_dequeue.
SELECT job_id, attempt, args, serialization_key, lease_until > now() AS leased FROM pgq_next(NULL, NULL) \gset
SELECT :'args' AS args, :'serialization_key' AS key, :'leased' AS leased, :attempt AS attempt;
SELECT args FROM pgq_next('{}', '{}', 10);
-- The next job of a key comes with the completion of the one before, in the same call.
SELECT job_id, attempt, args FROM pgq_next(ARRAY[:job_id], ARRAY[:attempt], worker => 'me', lease => '1 h') \gset
SELECT :'args' AS args;
SELECT worker, visible_at > now() + interval '50 min' AS long FROM pgq_jobs WHERE job_id = :job_id;
-- What is not current is passed over.
SELECT args FROM pgq_next(ARRAY[:job_id, -1], ARRAY[7, 1]);
-- Of another queue, and several at once.
SELECT args FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress' ORDER BY job_id),
                          ARRAY(SELECT attempt FROM pgq_jobs WHERE status = 'in_progress' ORDER BY job_id), 10, 'other');
-- Rolled back, neither has happened.
BEGIN;
SELECT args FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress'),
                          ARRAY(SELECT attempt FROM pgq_jobs WHERE status = 'in_progress'), 10);
ROLLBACK;
SELECT args, status FROM pgq_jobs ORDER BY job_id;
SELECT args FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress'),
                          ARRAY(SELECT attempt FROM pgq_jobs WHERE status = 'in_progress'), 10);
SELECT args, status FROM pgq_jobs ORDER BY job_id;

-- The next job of a key may be more urgent than all that there was so far.
SELECT pgq_create_queue('urgent');
SELECT pgq_enqueue('work', '11', 'c', 'urgent', priority => 5) > 0, pgq_enqueue('work', '12', 'c', 'urgent', priority => 3) > 0;
SELECT pgq_sync();
SELECT job_id, attempt FROM pgq_next(NULL, NULL, 1, 'urgent') \gset
SELECT args FROM pgq_next(ARRAY[:job_id], ARRAY[:attempt], 1, 'urgent');
SELECT count(*) FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress' AND queue = 'urgent'), ARRAY[1], 1, 'urgent');

-- So many next jobs that they are not kept one by one, and one behind them that another call has given back: the oldest comes first.
SELECT pgq_create_queue('crowd');
SELECT count(pgq_enqueue('work', to_jsonb(i), CASE WHEN i <= 200 THEN (i % 100)::text END, 'crowd')) FROM generate_series(1, 220) i;
SELECT pgq_sync();
SELECT count(*) FROM pgq_dequeue(120, 'crowd', '1 h');
SELECT pgq_release(job_id, attempt) FROM pgq_jobs WHERE queue = 'crowd' AND args = '210';
SELECT args FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE queue = 'crowd' AND args::int <= 100),
                          ARRAY(SELECT attempt FROM pgq_jobs WHERE queue = 'crowd' AND args::int <= 100), 1, 'crowd');
SELECT count(*) FROM pgq_complete(ARRAY(SELECT job_id FROM pgq_jobs WHERE queue = 'crowd' AND status = 'in_progress'),
                                  ARRAY(SELECT attempt FROM pgq_jobs WHERE queue = 'crowd' AND status = 'in_progress'));

-- Bad input changes nothing.
SELECT * FROM pgq_next(ARRAY[1], NULL);
SELECT * FROM pgq_next(NULL, ARRAY[1]);
SELECT * FROM pgq_next(ARRAY[1, 2], ARRAY[1]);
SELECT * FROM pgq_next(ARRAY[NULL::bigint], ARRAY[1]);
SELECT * FROM pgq_next('{}', '{}', 0);
SELECT * FROM pgq_next('{}', '{}', NULL);
SELECT * FROM pgq_next('{}', '{}', 1, NULL);
SELECT * FROM pgq_next('{}', '{}', 1, 'nope');
SELECT * FROM pgq_next('{}', '{}', 1, lease => '-1 s');
SELECT * FROM pgq_next(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress'),
                       ARRAY(SELECT attempt FROM pgq_jobs WHERE status = 'in_progress'), 1, 'nope');
SELECT count(*) FROM pgq_jobs WHERE status = 'in_progress';

-- A role that may work one queue only completes and gets that one's jobs only.
CREATE ROLE regress_next;
SELECT pgq_grant('regress_next', 'work', 'other');
SELECT add(NULL, 6), add(NULL, 7, 'other');
SELECT pgq_sync();
SELECT job_id, attempt FROM pgq_jobs WHERE status = 'in_progress' \gset
SET ROLE regress_next;
SELECT args FROM pgq_next(NULL, NULL, 10);
SELECT args FROM pgq_next(ARRAY[:job_id], ARRAY[:attempt], 10, 'other');
SELECT args FROM pgq_next(NULL, NULL, 10, 'other');
RESET ROLE;
SELECT pgq_revoke('regress_next', 'work', 'other');
DROP ROLE regress_next;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP FUNCTION add;
