-- Queues, jobs without an event, what is seen of them, and who may do what.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse

SELECT pgq_create_queue('mail', max_attempts => 3, lease => '1 min');
SELECT pgq_create_queue('mail');
SELECT pgq_alter_queue('mail', backoff => '2 s', max_backoff => '1 h');
SELECT * FROM pgq_queues ORDER BY queue;

-- An enqueued job is pending from its transaction's end, and has a position once it is live.
BEGIN;
SELECT pgq_enqueue('send', '{"to": "x"}', queue => 'mail');
ROLLBACK;
SELECT pgq_enqueue('send', 'null', 'k', 'mail', -5, NULL, NULL) > 0 AS enqueued;
SELECT pgq_enqueue('send', '[]', 'k', 'mail') > 0 AS enqueued;
SELECT pgq_enqueue('send', '{}', 'k', 'mail', run_at => clock_timestamp() + interval '1 day') > 0 AS enqueued;
SELECT pgq_enqueue('send', '{}', queue => 'mail', run_at => '2020-01-01') > 0 AS enqueued;
SELECT pgq_sync();
SELECT handler, serialization_key, status, priority, attempt, failures, max_attempts, args, result, worker, position IS NULL AS unplaced
  FROM pgq_jobs ORDER BY job_id;
SELECT queue, ready, waiting, delayed, running, failed, oldest_waiting BETWEEN '0' AND '1 min' AS sane
  FROM pgq_queues ORDER BY queue;

-- The same idempotency key in the same queue is the same job, also when that is finished.
SELECT pgq_enqueue('send', '1', queue => 'mail', idempotency_key => 'once') AS job \gset
SELECT pgq_enqueue('send', '2', queue => 'mail', idempotency_key => 'once') = :job AS same;
SELECT pgq_enqueue('send', '2', queue => 'default', idempotency_key => 'once') = :job AS same_in_another_queue;
SELECT pgq_cancel(:job);
SELECT pgq_sync();
SELECT status, args FROM pgq_jobs WHERE job_id = :job;
SELECT pgq_enqueue('send', '3', queue => 'mail', idempotency_key => 'once') = :job AS same;

-- A job is cancelled before it is live, in the transaction that enqueues it, and when it isn't due.
BEGIN;
SELECT pgq_enqueue('send', '"soon gone"', queue => 'mail') AS job \gset
SELECT pgq_cancel(:job);
COMMIT;
SELECT pgq_sync();
SELECT status FROM pgq_jobs WHERE job_id = :job;
SELECT pgq_cancel(:job);
SELECT pgq_cancel(job_id) FROM pgq_jobs WHERE visible_at > clock_timestamp();

-- What uses a queue keeps it.
SELECT pgq_drop_queue('mail');
SELECT count(*) FROM pgq_jobs, pgq_cancel(job_id) WHERE status = 'pending' AND queue = 'mail';
SELECT pgq_drop_queue('mail');
SELECT pgq_drop_queue('mail');
SELECT queue FROM pgq_queues;
SELECT count(*) > 0 AS kept FROM pgq_jobs WHERE queue = 'mail';
-- Whatever the isolation level, it sees what others have put in.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pgq_drop_queue('default');
ROLLBACK;

-- Nobody may do anything unless he is told so; EXECUTE alone is enough.
CREATE ROLE regress_pgq_worker;
SET ROLE regress_pgq_worker;
SELECT pgq_enqueue('send', '{}');
SELECT * FROM pgq_dequeue();
SELECT pgq_complete(1, 1);
SELECT pgq_create_queue('mine');
SELECT count(*) FROM pgq_jobs;
SELECT * FROM pgq_check();
RESET ROLE;
GRANT EXECUTE ON FUNCTION pgq_enqueue, pgq_dequeue, pgq_complete(bigint, int, jsonb) TO regress_pgq_worker;
GRANT SELECT ON pgq_queues TO regress_pgq_worker;
SET ROLE regress_pgq_worker;
SELECT pgq_enqueue('granted', '{}') > 0 AS enqueued;
RESET ROLE;
SELECT pgq_sync();
SET ROLE regress_pgq_worker;
SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(5) WHERE handler = 'granted';
SELECT count(*) FROM pgq_queues;
SELECT count(*) FROM pgq_job;
SELECT pgq_fail(1, 1, 'x');
RESET ROLE;

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP ROLE regress_pgq_worker;
