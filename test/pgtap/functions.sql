-- Labels of every function, against a table that somebody has thought about. Whoever adds a function adds a row.
SET search_path = tap, pg_catalog;
SELECT extnamespace::regnamespace AS s FROM pg_extension WHERE extname = 'pgq_ext' \gset
SELECT plan(10);

CREATE TEMP VIEW member AS
SELECT p.*, l.lanname FROM pg_depend d
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pgq_ext'
  JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
  JOIN pg_language l ON l.oid = p.prolang
 WHERE d.deptype = 'e';

-- Volatile and unsafe, as they write or wait, but for those that only look: pgq_enqueuer_status reads shared memory that
-- a parallel worker could read as well, were it not for its own snapshot of it.
-- No function is strict: a NULL is an error that names the argument, not silence.
CREATE TEMP TABLE reviewed (signature text, volatility "char", parallel "char", definer boolean, language name);
INSERT INTO reviewed VALUES
    ('pgq_adopt_handlers()', 'v', 'u', false, 'sql'),
    ('pgq_adopt_jobs()', 'v', 'u', true, 'sql'),
    ('pgq_attach_rule(regclass)', 'v', 'u', false, 'c'),
    ('pgq_alter_handler(text,regclass,text,text,text,text,text)', 'v', 'u', false, 'c'),
    ('pgq_alter_queue(text,integer,interval,interval,interval)', 'v', 'u', false, 'c'),
    ('pgq_announce()', 'v', 'u', false, 'c'),
    ('pgq_cancel(bigint)', 'v', 'u', false, 'c'),
    ('pgq_check()', 'v', 'u', true, 'sql'),
    ('pgq_complete(bigint,integer,jsonb)', 'v', 'u', false, 'c'),
    ('pgq_complete(bigint[],integer[])', 'v', 'u', false, 'c'),
    ('pgq_create_handler(text,regclass,text,text,text,text,text)', 'v', 'u', false, 'c'),
    ('pgq_create_queue(text,integer,interval,interval,interval)', 'v', 'u', false, 'c'),
    ('pgq_dequeue(integer,text,interval,text)', 'v', 'u', false, 'c'),
    ('pgq_drop_handler(text)', 'v', 'u', false, 'c'),
    ('pgq_drop_queue(text)', 'v', 'u', false, 'c'),
    ('pgq_enqueue(text,jsonb,text,text,integer,timestamp with time zone,text)', 'v', 'u', false, 'c'),
    ('pgq_enqueuer_status()', 'v', 'r', false, 'c'),
    ('pgq_extend(bigint,integer,interval)', 'v', 'u', false, 'c'),
    ('pgq_fail(bigint,integer,text,interval)', 'v', 'u', false, 'c'),
    ('pgq_grant(regrole,text,text)', 'v', 'u', false, 'c'),
    ('pgq_hold_jobs()', 'v', 'u', false, 'sql'),
    ('pgq_handler_restored()', 'v', 'u', false, 'plpgsql'),
    ('pgq_next(bigint[],integer[],integer,text,interval,text)', 'v', 'u', false, 'c'),
    ('pgq_key_hash(text,text)', 'i', 's', false, 'c'),
    ('pgq_job_restored()', 'v', 'u', false, 'plpgsql'),
    ('pgq_queue_restored()', 'v', 'u', false, 'plpgsql'),
    ('pgq_request_restored()', 'v', 'u', false, 'plpgsql'),
    ('pgq_release(bigint,integer,interval)', 'v', 'u', false, 'c'),
    ('pgq_retry(bigint)', 'v', 'u', false, 'c'),
    ('pgq_retry_event(bigint)', 'v', 'u', false, 'c'),
    ('pgq_revoke(regrole,text,text)', 'v', 'u', false, 'c'),
    ('pgq_stream_seen()', 'v', 'u', false, 'c'),
    ('pgq_sync(interval)', 'v', 'u', false, 'c'),
    ('pgq_violations(boolean,pg_lsn,text)', 'v', 'u', false, 'sql');
SELECT set_eq($$SELECT proname || '(' || replace(pg_catalog.oidvectortypes(proargtypes), ', ', ',') || ')', provolatile, proparallel, prosecdef, lanname FROM member$$,
    'SELECT * FROM reviewed', 'volatility, parallel safety, rights and language are as reviewed');
SELECT is_empty('SELECT oid::regprocedure FROM member WHERE proisstrict', 'no function is strict');
SELECT is_empty('SELECT oid::regprocedure FROM member WHERE proleakproof', 'nor leakproof');
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE (prosecdef OR lanname = 'plpgsql' OR lanname = 'sql')
    AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)$$,
    'every function that runs SQL, or as its owner, has a pinned search_path with pg_temp at its end');
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE proname IN ('pgq_check', 'pgq_violations')
    AND NOT coalesce(proconfig @> ARRAY['jit=off'], false)$$, 'what is much dearer to compile than to run is not compiled');
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE lanname = 'c' AND probin <> '$libdir/pgq_ext'$$, 'C functions are in our library');
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE prosrc ~ '@extschema@'$$, 'no placeholder is left');
-- The schema can be renamed, and another one take its name: what is bound when it is created follows.
SELECT is_empty(format($$SELECT oid::regprocedure FROM member WHERE strpos(prosrc, %L || '.') > 0$$, :'s'), 'none names its schema');
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE proargnames IS NULL AND pronargs > 0$$, 'every argument has a name');
-- A set-returning function's estimate decides the plan of whoever joins it.
SELECT is_empty($$SELECT oid::regprocedure FROM member WHERE proretset AND prorows = 0$$, 'a set has an estimate');
SELECT * FROM finish();
