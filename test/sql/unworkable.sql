-- No job is made that nobody could work, and nothing is lost by it.
CREATE EXTENSION pgq_ext;
SELECT pgq_create_queue('short', 1);
CREATE TABLE ev (k text);

-- A handler is dropped together with its queue, and events of the same transaction come before both.
SELECT pgq_create_handler('ev', 'ev', 'k', queue => 'short');
BEGIN;
INSERT INTO ev VALUES ('a'), ('b');
SELECT pgq_drop_handler('ev');
SELECT pgq_drop_queue('short');
COMMIT;
SELECT pgq_sync('1 min');
SELECT count(*) FROM pgq_jobs;
SELECT handler, event, sqlstate, error FROM pgq_event_errors ORDER BY error_id;

-- A dead letter stays one while its queue is missing.
SELECT pgq_create_queue('short', 1);
SELECT pgq_enqueue('work', '{}', queue => 'short') AS job \gset
SELECT pgq_sync('1 min');
SELECT pgq_fail(job_id, attempt, 'no') FROM pgq_dequeue(1, 'short');
SELECT pgq_drop_queue('short');
SELECT pgq_retry(:job);
SELECT status FROM pgq_jobs WHERE job_id = :job;
-- And a queue to which one is going back is in use.
SELECT pgq_create_queue('short', 1);
BEGIN;
SELECT pgq_retry(:job);
SELECT pgq_drop_queue('short');
ROLLBACK;
SELECT pgq_retry(:job);
SELECT pgq_sync('1 min');
SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(1, 'short');

-- What is too large to be handed out is an event error; what is large is not.
SELECT pgq_create_handler('large', 'ev', 'k', args => 'to_jsonb(repeat(k, 20000000))');
SELECT pgq_create_handler('too large', 'ev', 'repeat(k, 140000000)');
SELECT pgq_create_handler('too large args', 'ev', args => 'to_jsonb(repeat(k, 140000000))');
INSERT INTO ev VALUES ('c');
SELECT pgq_sync('1 min');
SELECT handler, sqlstate, error FROM pgq_event_errors WHERE handler LIKE 'too%' ORDER BY error_id;
SELECT handler, length(args #>> '{}') FROM pgq_dequeue(10);

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP TABLE ev;
