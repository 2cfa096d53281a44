-- Rights: nobody may do anything, and EXECUTE on the single functions is all that a producer, a worker or an operator
-- needs beside USAGE on the schema. Never a right on a table.
SET search_path = tap, pg_catalog;
SET client_min_messages = warning;
SELECT extnamespace::regnamespace AS s FROM pg_extension WHERE extname = 'pgq_ext' \gset
SELECT plan(51);

CREATE ROLE pgq_test_low;
SELECT format('GRANT USAGE ON SCHEMA %s TO pgq_test_low', :'s') \gexec
CREATE SCHEMA pgq_test;
CREATE TABLE pgq_test.ev (k text);

-- What comes of a statement as that role: its SQLSTATE, or 00000.
CREATE FUNCTION pg_temp.as_low(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text := '00000';
BEGIN
    SET ROLE pgq_test_low;
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN state := SQLSTATE;
    END;
    RESET ROLE;
    RETURN state;
END $$;

-- Each function, a call that a role with the right may make, and what comes of it then.
CREATE TEMP TABLE calls (n serial, signature text, call text, allowed text DEFAULT '00000');
INSERT INTO calls (signature, call, allowed) VALUES
    ('pgq_enqueue', $$('work', '{"a": 1}', 'key', idempotency_key => 'i')$$, DEFAULT),
    ('pgq_sync', '()', DEFAULT),
    ('pgq_dequeue', '(1, worker => ''low'')', DEFAULT),
    ('pgq_next', '(NULL, NULL)', DEFAULT),
    ('pgq_extend', '(1, 1)', DEFAULT),
    ('pgq_release', '(1, 1)', DEFAULT),
    ('pgq_complete(bigint, int, jsonb)', '(1, 1)', 'PQ001'),
    ('pgq_complete(bigint[], int[])', '(ARRAY[1], ARRAY[1])', DEFAULT),
    ('pgq_fail', '(1, 1, ''no'')', 'PQ001'),
    ('pgq_cancel', '(1)', DEFAULT),
    ('pgq_retry', '(1)', DEFAULT),
    ('pgq_retry_event', '(1)', DEFAULT),
    ('pgq_create_queue', '(''q'')', DEFAULT),
    ('pgq_alter_queue', '(''q'', 7)', DEFAULT),
    ('pgq_drop_queue', '(''q'')', DEFAULT),
    ('pgq_create_handler', '(''low'', ''pgq_test.ev'')', '42501'), -- for want of SELECT on the source
    ('pgq_alter_handler', '(''nobodys'')', '42704'),
    ('pgq_drop_handler', '(''nobodys'')', '42704'),
    ('pgq_check', '()', DEFAULT);
UPDATE calls SET call = format('SELECT * FROM %s.%s%s', :'s', split_part(signature, '(', 1), call);

SELECT is(pg_temp.as_low(call), '42501', 'without the right: ' || signature) FROM calls ORDER BY n;
SELECT is(pg_temp.as_low(format('SELECT FROM %s.%I', :'s', v)), '42501', 'nor may he read ' || v)
  FROM unnest(ARRAY['pgq_jobs', 'pgq_queues', 'pgq_handlers', 'pgq_event_errors', 'pgq_enqueuer', 'pgq_job', 'pgq_request']) v;

SELECT format('GRANT EXECUTE ON FUNCTION %s.%s TO pgq_test_low', :'s', signature) FROM calls ORDER BY n \gexec
-- One statement after the other, each in a transaction of its own: a call needs what the one before it has committed.
SELECT is(pg_temp.as_low(call), allowed, 'with EXECUTE alone: ' || signature) FROM calls WHERE n = 1;
SELECT is(pg_temp.as_low(call), allowed, 'with EXECUTE alone: ' || signature) FROM calls WHERE n = 2;
SELECT is(pg_temp.as_low(call), allowed, 'with EXECUTE alone: ' || signature) FROM calls WHERE n = 3;
SELECT is(pg_temp.as_low(call), allowed, 'with EXECUTE alone: ' || signature) FROM calls WHERE n = 4;
SELECT is(pg_temp.as_low(call), allowed, 'with EXECUTE alone: ' || signature) FROM calls WHERE n > 4 ORDER BY n;

-- An owner needs SELECT on the source and EXECUTE; his handler works, and reading a view takes SELECT on that view.
GRANT USAGE ON SCHEMA pgq_test TO pgq_test_low;
GRANT SELECT ON pgq_test.ev TO pgq_test_low;
SELECT is(pg_temp.as_low(format($$SELECT %s.pgq_create_handler('low', 'pgq_test.ev', 'k')$$, :'s')), '00000', 'he may define a handler');
INSERT INTO pgq_test.ev VALUES ('event');
SELECT :s.pgq_sync() \g /dev/null
SELECT is(serialization_key, 'event', 'and it works') FROM :s.pgq_jobs WHERE handler = 'low';
SELECT format('GRANT SELECT ON %s TO pgq_test_low', string_agg(format('%s.%I', :'s', v), ', '))
  FROM unnest(ARRAY['pgq_jobs', 'pgq_queues', 'pgq_handlers', 'pgq_event_errors']) v \gexec
SELECT is(pg_temp.as_low(format('SELECT FROM %s.%I', :'s', v)), '00000', 'with SELECT alone: ' || v)
  FROM unnest(ARRAY['pgq_jobs', 'pgq_queues', 'pgq_handlers', 'pgq_event_errors']) v;

SELECT :s.pgq_drop_handler('low') \g /dev/null
DROP SCHEMA pgq_test CASCADE;
DROP OWNED BY pgq_test_low;
DROP ROLE pgq_test_low;
SELECT * FROM finish();
