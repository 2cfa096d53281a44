-- Bad arguments: an error that names the argument, and nothing has changed.
CREATE EXTENSION pgq_ext;
-- The message and the SQLSTATE of what a statement raises; the source's line is of no interest.
CREATE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

SELECT pgq_enqueue('h', '{}', 'k') IS NOT NULL, pgq_enqueue('h', '{}') IS NOT NULL;
SELECT pgq_sync();
SELECT job_id AS job FROM pgq_dequeue(1, lease => '1 h') \gset
SELECT format('%s, 1', :job) AS hand_out \gset

CREATE TABLE statements (number serial, statement text);
INSERT INTO statements (statement) VALUES
    ('SELECT * FROM pgq_dequeue(NULL)'), ('SELECT * FROM pgq_dequeue(0)'), ('SELECT * FROM pgq_dequeue(-1)'),
    ('SELECT * FROM pgq_dequeue(1, NULL)'), ('SELECT * FROM pgq_dequeue(1, ''nope'')'), ('SELECT * FROM pgq_dequeue(1, '''')'),
    ('SELECT * FROM pgq_dequeue(1, lease => ''0'')'), ('SELECT * FROM pgq_dequeue(1, lease => ''-1 h'')'),
    ('SELECT * FROM pgq_dequeue(1, lease => ''-1 mon +1 day'')'),
    ('SELECT * FROM pgq_dequeue(1, lease => ''178000000 years'')'),
    ('SELECT * FROM pgq_dequeue(1, lease => ''-1 mon +30 days'')'),
    ('SELECT pgq_complete(NULL, 1)'), ('SELECT pgq_complete(1, NULL)'),
    ('SELECT pgq_complete(NULL::bigint[], ''{}''::int[])'), ('SELECT pgq_complete(''{}''::bigint[], NULL::int[])'),
    ('SELECT pgq_complete(''{1,2}''::bigint[], ''{1}''::int[])'),
    ('SELECT pgq_complete(''{1,NULL}''::bigint[], ''{1,1}''::int[])'),
    ('SELECT pgq_complete(''{1,2}''::bigint[], ''{1,NULL}''::int[])'),
    ('SELECT pgq_complete(''{{1},{2}}''::bigint[], ''{{1},{1}}''::int[])'),
    ('SELECT pgq_fail(NULL, 1, ''x'')'), ('SELECT pgq_fail(1, NULL, ''x'')'), ('SELECT pgq_fail(1, 1, NULL)'),
    ('SELECT pgq_fail(HAND_OUT, ''x'', ''0'')'), ('SELECT pgq_fail(HAND_OUT, ''x'', ''-5 min'')'),
    ('SELECT pgq_fail(HAND_OUT, ''x'', ''178000000 years'')'),
    ('SELECT pgq_extend(NULL, 1)'), ('SELECT pgq_extend(1, NULL)'), ('SELECT pgq_extend(HAND_OUT, ''0'')'),
    ('SELECT pgq_extend(HAND_OUT, ''-1 s'')'), ('SELECT pgq_extend(HAND_OUT, ''178000000 years'')'),
    ('SELECT pgq_release(NULL, 1)'), ('SELECT pgq_release(1, NULL)'), ('SELECT pgq_release(HAND_OUT, ''0'')'),
    ('SELECT pgq_release(HAND_OUT, ''-1 s'')'), ('SELECT pgq_release(HAND_OUT, ''178000000 years'')'),
    ('SELECT pgq_cancel(NULL)'), ('SELECT pgq_retry(NULL)'),
    -- hand-outs that aren't current
    ('SELECT pgq_complete(-1, 1)'), ('SELECT pgq_complete(JOB, 2)'), ('SELECT pgq_complete(JOB, 0)'),
    ('SELECT pgq_fail(JOB, 2, ''x'')'), ('SELECT pgq_extend(JOB, 2)'), ('SELECT pgq_release(JOB, 2)'),
    ('SELECT pgq_complete(JOB + 1, 1)'), ('SELECT pgq_complete(JOB + 1, 0)'),
    -- enqueue
    ('SELECT pgq_enqueue(NULL, ''{}'')'), ('SELECT pgq_enqueue(''h'', NULL)'), ('SELECT pgq_enqueue('''', ''{}'')'),
    ('SELECT pgq_enqueue(repeat(''h'', 256), ''{}'')'), ('SELECT pgq_enqueue(''h'', ''{}'', queue => NULL)'),
    ('SELECT pgq_enqueue(''h'', ''{}'', queue => ''nope'')'), ('SELECT pgq_enqueue(''h'', ''{}'', priority => NULL)'),
    ('SELECT pgq_enqueue(''h'', ''{}'', run_at => ''infinity'')'), ('SELECT pgq_enqueue(''h'', ''{}'', run_at => ''-infinity'')'),
    ('SELECT pgq_enqueue(''h'', ''{}'', idempotency_key => '''')'),
    ('SELECT pgq_enqueue(''h'', ''{}'', idempotency_key => repeat(''i'', 1025))'),
    -- queues
    ('SELECT pgq_create_queue(NULL)'), ('SELECT pgq_create_queue('''')'), ('SELECT pgq_create_queue(repeat(''q'', 256))'),
    ('SELECT pgq_create_queue(''default'')'), ('SELECT pgq_create_queue(''q'', NULL)'), ('SELECT pgq_create_queue(''q'', 0)'),
    ('SELECT pgq_create_queue(''q'', lease => NULL)'), ('SELECT pgq_create_queue(''q'', lease => ''0'')'),
    ('SELECT pgq_create_queue(''q'', lease => ''178000000 years'')'),
    ('SELECT pgq_create_queue(''q'', backoff => NULL)'), ('SELECT pgq_create_queue(''q'', backoff => ''-1 s'')'),
    ('SELECT pgq_create_queue(''q'', max_backoff => NULL)'), ('SELECT pgq_create_queue(''q'', max_backoff => ''0'')'),
    ('SELECT pgq_alter_queue(NULL)'), ('SELECT pgq_alter_queue(''nope'')'), ('SELECT pgq_alter_queue(''default'', 0)'),
    ('SELECT pgq_alter_queue(''default'', lease => ''-1 mon +30 days'')'),
    ('SELECT pgq_drop_queue(NULL)'), ('SELECT pgq_drop_queue(''nope'')'), ('SELECT pgq_drop_queue(''default'')');
SELECT statement, error_of(replace(replace(statement, 'HAND_OUT', :'hand_out'), 'JOB', :'job')) AS error
  FROM statements ORDER BY number;

-- Read-only transactions.
BEGIN READ ONLY;
SELECT error_of('SELECT * FROM pgq_dequeue()'), error_of('SELECT pgq_complete(1, 1)'),
       error_of('SELECT pgq_complete(''{1}''::bigint[], ''{1}''::int[])');
SELECT error_of('SELECT pgq_fail(1, 1, ''x'')'), error_of('SELECT pgq_extend(1, 1)'), error_of('SELECT pgq_release(1, 1)');
SELECT error_of('SELECT pgq_cancel(1)'), error_of('SELECT pgq_retry(1)');
ROLLBACK;

-- Nothing has changed.
SELECT status, attempt, failures, last_error FROM pgq_jobs ORDER BY job_id;
SELECT queue, max_attempts, lease, backoff, max_backoff FROM pgq_queues;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP FUNCTION error_of;
