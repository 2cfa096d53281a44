-- pgq_check: each rule of the tables is broken by hand, and it finds that and nothing else.
CREATE EXTENSION pgq_ext;
SELECT pgq_create_queue('other', lease => '1 h');
CREATE TABLE ev (k text, n int);
SELECT pgq_create_handler('ev', 'ev', 'k', args => 'to_jsonb(n)', queue => 'other');

-- Key a: 1 is handed out, 2 and 3 wait. 4 is delayed, 5 scheduled, 6 completed, 7 ready and without a key, 8 ready.
INSERT INTO ev VALUES ('a', 1), ('a', 2), ('a', 3), ('b', 4), (NULL, 6);
SELECT pgq_sync();
SELECT args FROM pgq_dequeue(10, 'other');
CREATE FUNCTION job(n int) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT job_id FROM pgq_jobs WHERE args = to_jsonb(n)';
SELECT pgq_fail(job(4), 1, 'not yet', '1 h'), pgq_complete(job(6), 1);
SELECT pgq_enqueue('ev', '5', 'a', run_at => 'tomorrow') > 0, pgq_enqueue('ev', '7') > 0, pgq_enqueue('ev', '8', 'c') > 0;
SELECT pgq_sync();
SELECT args, state, held FROM pgq_job ORDER BY args;
SELECT * FROM pgq_check();

-- Runs the statements, says what pgq_check finds then, and takes them back.
CREATE FUNCTION broken_by(VARIADIC statements text[]) RETURNS TABLE (violation text, job jsonb) LANGUAGE plpgsql AS $$
DECLARE
    statement text;
    found text[];
BEGIN
    BEGIN
        FOREACH statement IN ARRAY statements LOOP
            EXECUTE statement;
        END LOOP;
        found := ARRAY(SELECT to_jsonb(c)::text FROM pgq_check() c);
        RAISE EXCEPTION USING ERRCODE = 'PZ000';
    EXCEPTION WHEN SQLSTATE 'PZ000' THEN
        NULL;
    END;
    RETURN QUERY SELECT c ->> 'violation', (SELECT j.args FROM pgq_jobs j WHERE j.job_id = (c ->> 'job_id')::bigint)
                   FROM (SELECT unnest(found)::jsonb) f (c) ORDER BY 1, 2;
END $$;
\pset format unaligned
\pset tuples_only on
\pset null '-'

-- Keys.
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'd', held = false, visible_at = 'tomorrow' WHERE job_id = job(2)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'r' WHERE job_id = job(2)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'r', verified = false WHERE job_id = job(2)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'r', lease_until = 'tomorrow', held = true, attempt = 1 WHERE job_id = job(3)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'p' WHERE job_id = job(2)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'w' WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$DELETE FROM pgq_job WHERE job_id = job(1)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET position = (SELECT position FROM pgq_job WHERE job_id = job(2)) WHERE job_id = job(3)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET position = 0 WHERE job_id = job(3)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET key_hash = key_hash + 1 WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET key_hash = NULL WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET handler = 'another' WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET key_hash = 0 WHERE job_id = job(7)$$);

-- Single jobs.
SELECT * FROM broken_by($$UPDATE pgq_job SET position = 0 WHERE job_id = job(5)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET position = NULL WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET position = (SELECT next_position FROM pgq_progress) WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET held = false WHERE job_id = job(1)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET held = true WHERE job_id = job(4)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET held = true WHERE job_id = job(5)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET held = true WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'p' WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'p', held = true WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'p' WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET attempt = 0 WHERE job_id = job(1)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET verified = false WHERE job_id = job(1)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET state = 'w' WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET lease_until = 'infinity' WHERE job_id = job(1)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET visible_at = 'infinity' WHERE job_id = job(4)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET visible_at = 'infinity' WHERE job_id = job(5)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET failures = 2 WHERE job_id = job(4)$$);
SELECT * FROM broken_by($$UPDATE pgq_job SET failures = -1 WHERE job_id = job(7)$$);

-- Where a job is.
\set put_request '$$INSERT INTO pgq_request (job_id, kind, queue, handler) VALUES (job(%s), ''e'', ''other'', ''ev'')$$'
\set as_the_extension_does '$$ALTER TABLE pgq_request DISABLE TRIGGER pgq_restore$$'
SELECT * FROM broken_by($$UPDATE pgq_archive SET job_id = job(7)$$);
SELECT * FROM broken_by(:as_the_extension_does, format(:put_request, 7));
SELECT * FROM broken_by(:as_the_extension_does, format(:put_request, 6));
SELECT * FROM broken_by($$INSERT INTO pgq_archive SELECT * FROM pgq_archive$$);

-- Numbers.
SELECT * FROM broken_by($$UPDATE pgq_job SET job_id = 1000000 WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_archive SET job_id = 1000000$$);
SELECT * FROM broken_by(:as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind, queue, handler) VALUES (1000000, 'e', 'other', 'ev')$$);
SELECT * FROM broken_by(:as_the_extension_does, $$INSERT INTO pgq_request (request_id, job_id, kind) OVERRIDING SYSTEM VALUE VALUES (1000000, 1, 'v')$$);
SELECT * FROM broken_by($$ALTER TABLE pgq_handler ALTER handler_id SET GENERATED BY DEFAULT$$,
                        $$UPDATE pgq_handler SET handler_id = 1000000$$, $$UPDATE pgq_active_handler SET handler_id = 1000000$$);
SELECT * FROM broken_by($$INSERT INTO pgq_event_error (error_id, handler, handler_id, source, sqlstate, error, lsn) OVERRIDING SYSTEM VALUE
                          VALUES (1, 'ev', 1, 'ev', 'XX000', '', '0/1')$$);

-- Queues.
SELECT * FROM broken_by($$UPDATE pgq_job SET queue = 'nowhere' WHERE job_id = job(8)$$);
SELECT * FROM broken_by($$UPDATE pgq_handler SET queue = 'nowhere'$$);
SELECT * FROM broken_by($$INSERT INTO pgq_queue_worker VALUES ('nowhere', current_user::regrole)$$);
SELECT * FROM broken_by(:as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind, queue) VALUES (job(6), 'r', 'nowhere')$$);

-- The position, the versions of handlers that apply there, and the requests that it has passed.
\set everything_has_ended '$$UPDATE pgq_progress SET converted = ''1000000:1000000:''$$'
\set nothing_has_ended '$$UPDATE pgq_progress SET converted = ''1:1:''$$'
SELECT * FROM broken_by($$DELETE FROM pgq_progress$$);
SELECT * FROM broken_by($$INSERT INTO pgq_progress SELECT * FROM pgq_progress$$);
SELECT * FROM broken_by($$UPDATE pgq_progress SET last_lsn = '0/1'$$);
SELECT * FROM broken_by($$UPDATE pgq_progress SET last_lsn = 'FFFFFFFF/0'$$);
SELECT * FROM broken_by(:everything_has_ended, $$UPDATE pgq_handler SET retired_xid = created_xid, retired_rule = ''$$);
SELECT * FROM broken_by(:everything_has_ended, $$DELETE FROM pgq_active_handler$$);
SELECT * FROM broken_by(:nothing_has_ended);
SELECT * FROM broken_by($$DELETE FROM pgq_handler$$);
SELECT * FROM broken_by(:everything_has_ended, :as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind) VALUES (1, 'v')$$);
SELECT * FROM broken_by(:everything_has_ended, :as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind) VALUES (1, 'c')$$);
-- What has not been passed yet, or was put off, is in order.
SELECT * FROM broken_by(:as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind) VALUES (1, 'v')$$);
SELECT * FROM broken_by(:everything_has_ended, :as_the_extension_does, $$INSERT INTO pgq_request (job_id, kind, run_at) VALUES (1, 'c', now())$$);

-- Large transactions: positions that are reserved for one, and not given yet.
SELECT * FROM broken_by($$INSERT INTO pgq_large_transaction SELECT position, position, position + 1, 0, '0/1', now(), '{}' FROM pgq_job WHERE job_id = job(7)$$);
SELECT * FROM broken_by($$INSERT INTO pgq_large_transaction VALUES (1, 0, 1, 0, '0/1', now(), '{}')$$);
SELECT * FROM broken_by($$INSERT INTO pgq_large_transaction VALUES (999999, 999999, 1000000, 0, '0/1', now(), '{}')$$);
SELECT * FROM broken_by($$INSERT INTO pgq_large_transaction VALUES (1, 3, 3, 0, '0/1', now(), '{}'), (2, 3, 3, 0, '0/1', now(), '{}')$$);

-- It does not wait, and holds nobody up: here in a read-only transaction with one snapshot.
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT * FROM pgq_check();
COMMIT;

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
DROP TABLE ev;
DROP FUNCTION job, broken_by;
