-- Whatever stands in the caller's search_path, in front of pg_catalog even: what the extension does means what it meant
-- when it was installed. Each trap raises an error when it is called.
SET client_min_messages = warning;
SELECT extnamespace::regnamespace AS s FROM pg_extension WHERE extname = 'pgq_ext' \gset
SET search_path = tap, pg_catalog;
SELECT plan(17);

CREATE SCHEMA trap;
DO $$
DECLARE
    f record;
    body text := 'BEGIN RAISE EXCEPTION ''caught in a trap''; END';
BEGIN
    -- Functions and operators of the names that plpgsql and SQL texts of such an extension use.
    FOR f IN SELECT p.oid, p.proname, pg_get_function_arguments(p.oid) AS arguments, p.prorettype::regtype AS result, p.proretset
               FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.proname IN
                    ('clock_timestamp', 'now', 'format', 'octet_length', 'nextval', 'left', 'greatest', 'unnest', 'array_remove',
                     'jsonb_build_object', 'to_jsonb', 'isfinite', 'pg_notify', 'length', 'lower', 'pg_current_wal_lsn', 'hashtext')
                AND NOT p.proretset
    LOOP
        EXECUTE format('CREATE FUNCTION trap.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', f.proname,
                       replace(f.arguments, '"any"', 'text[]'), f.result, body);
    END LOOP;
    FOR f IN SELECT o.oprname, o.oprleft::regtype AS l, o.oprright::regtype AS r, row_number() OVER () AS n
               FROM pg_operator o WHERE o.oprname IN ('=', '<>', '<', '>', '<=', '>=') AND o.oprleft = o.oprright
                AND o.oprleft::regtype::text IN ('text', 'integer', 'bigint', 'interval', 'timestamp with time zone', '"char"', 'boolean', 'xid8')
    LOOP
        EXECUTE format('CREATE FUNCTION trap.op%s(%s, %s) RETURNS boolean LANGUAGE plpgsql AS %L', f.n, f.l, f.r, body);
        EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.op%s)', f.oprname, f.l, f.r, f.n);
    END LOOP;
    FOR f IN SELECT relname FROM pg_class c JOIN pg_depend d ON d.objid = c.oid AND d.deptype = 'e'
               JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'pgq_ext' WHERE c.relkind IN ('r', 'v')
    LOOP
        EXECUTE format('CREATE TABLE trap.%I (trapped int)', f.relname);
    END LOOP;
END $$;
CREATE TABLE trap.ev (k text);

-- What comes of a statement with the traps in the path.
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    outcome text := 'fine';
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'trap, pg_catalog, pg_temp', true);
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN outcome := SQLERRM;
    END;
    PERFORM pg_catalog.set_config('search_path', 'tap, pg_catalog, pg_temp', true);
    RETURN outcome;
END $$;
SET search_path = tap, pg_catalog;
SELECT is(pg_temp.outcome('SELECT clock_timestamp()'), 'caught in a trap', 'the traps are set');
SELECT is(pg_temp.outcome('SELECT 1 = 1'), 'caught in a trap', 'for operators too');

SELECT is(pg_temp.outcome(format('SELECT %s.%s', :'s', call)), 'fine', call) FROM (VALUES
    ('pgq_create_queue(''q'')'), ('pgq_alter_queue(''q'', 7)'), ('pgq_drop_queue(''q'')'),
    ('pgq_create_handler(''h'', ''trap.ev'', ''k'')'), ('pgq_alter_handler(''h'', priority => ''1'')'),
    ('pgq_enqueue(''work'', ''{"a": 1}'', ''key'', idempotency_key => ''trapped'')')) v (call);
INSERT INTO trap.ev VALUES ('event');
SELECT :s.pgq_sync() \g /dev/null
SELECT is(pg_temp.outcome(format('SELECT * FROM %s.%s', :'s', v)), 'fine', v)
  FROM unnest(ARRAY['pgq_jobs', 'pgq_queues', 'pgq_handlers', 'pgq_event_errors', 'pgq_enqueuer']) v;
SELECT is(pg_temp.outcome(format($$SELECT %1$s.pgq_complete(d.job_id, d.attempt) FROM %1$s.pgq_dequeue(10) d$$, :'s')), 'fine', 'work');
SELECT is(count(*), 2::bigint, 'and both jobs are done') FROM :s.pgq_jobs WHERE status = 'completed' AND handler IN ('h', 'work');
SELECT is(pg_temp.outcome(format('SELECT * FROM %s.pgq_check()', :'s')), 'fine', 'pgq_check');
SELECT is(pg_temp.outcome(format($$SELECT %s.pgq_drop_handler('h')$$, :'s')), 'fine', 'pgq_drop_handler');
DROP SCHEMA trap CASCADE;
SELECT * FROM finish();
