-- Callers whose settings bite. Each call works, or says clearly why not and changes nothing.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
CREATE TABLE callers_ev (k text);
CREATE TABLE outcomes (n serial, setting text, outcome text);

-- Every function that a caller may need, in two transactions, between which the enqueuer makes the job.
CREATE FUNCTION begin_with(setting text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.pgq_enqueue('life', to_jsonb(setting), setting, idempotency_key => setting);
    PERFORM public.pgq_create_queue(setting);
    PERFORM public.pgq_alter_queue(setting, 3, '1 h 1 s');
    PERFORM public.pgq_drop_queue(setting);
    PERFORM public.pgq_create_handler('of ' || setting, 'public.callers_ev', 'k');
    PERFORM public.pgq_alter_handler('of ' || setting, filter => 'k <> ''x''');
    PERFORM public.pgq_drop_handler('of ' || setting);
END $$;
CREATE FUNCTION end_with(setting text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    h record;
BEGIN
    SELECT * INTO STRICT h FROM public.pgq_dequeue(1, lease => '1 h', worker => 'caller');
    PERFORM public.pgq_extend(h.job_id, h.attempt), public.pgq_release(h.job_id, h.attempt);
    SELECT * INTO STRICT h FROM public.pgq_dequeue(10, lease => '1 h');
    PERFORM public.pgq_complete(ARRAY[h.job_id], ARRAY[h.attempt]);
    INSERT INTO public.outcomes (setting, outcome)
        SELECT $1, concat_ws(' ', j.status, j.serialization_key = $1, j.args = to_jsonb($1), j.attempt)
          FROM public.pgq_jobs j WHERE j.job_id = h.job_id;
END $$;

-- Settings that change plans, names, the rows one sees, and how values look.
CREATE TABLE settings (n serial, setting text, value text);
INSERT INTO settings (setting, value) VALUES
    ('search_path', ''), ('search_path', 'pg_temp, nowhere'), ('row_security', 'off'), ('work_mem', '64kB'),
    ('enable_indexscan', 'off'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('enable_sort', 'off'), ('enable_hashjoin', 'off'),
    ('jit_above_cost', '0'), ('plan_cache_mode', 'force_generic_plan'), ('plan_cache_mode', 'force_custom_plan'),
    ('session_replication_role', 'replica'), ('default_transaction_deferrable', 'on'), ('default_transaction_isolation', 'serializable'),
    ('default_transaction_isolation', 'repeatable read'), ('TimeZone', 'Pacific/Chatham'), ('DateStyle', 'SQL, DMY'),
    ('IntervalStyle', 'sql_standard'), ('bytea_output', 'escape'), ('quote_all_identifiers', 'on'), ('standard_conforming_strings', 'off'),
    ('client_encoding', 'LATIN1'), ('transform_null_equals', 'on'), ('track_counts', 'off'), ('synchronous_commit', 'off'),
    ('allow_system_table_mods', 'on'), ('check_function_bodies', 'off'), ('lock_timeout', '1min'), ('temp_buffers', '100');
SELECT count(*) FROM settings;
\set ECHO none
SELECT unnest(ARRAY[
    format('SET %I = %L', setting, value),
    format('DO $$ BEGIN PERFORM public.begin_with(%L); END $$', setting || value),
    'DO $$ BEGIN PERFORM public.pgq_sync(); END $$',
    format('DO $$ BEGIN PERFORM public.end_with(%L); END $$', setting || value),
    'RESET ALL'])
  FROM settings ORDER BY n \gexec
\set ECHO all
SELECT outcome, count(*) FROM outcomes GROUP BY outcome ORDER BY outcome;
SELECT s.setting, s.value FROM settings s WHERE NOT EXISTS (SELECT FROM outcomes o WHERE o.setting = s.setting || s.value AND o.outcome = 'completed t t 2');

-- Parallel query: nothing that writes gets into a parallel plan.
SET force_parallel_mode = on;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(pgq_enqueue('h', to_jsonb(n))) FROM settings;
SELECT pgq_sync();
CREATE TABLE taken AS SELECT job_id, attempt FROM pgq_dequeue(100, lease => '1 h');
ANALYZE taken;
SELECT count(*) FROM taken WHERE pgq_extend(job_id, attempt) > now();
SELECT count(*) FROM taken WHERE pgq_complete(job_id, attempt);
SELECT count(*) FROM pgq_jobs WHERE status = 'completed' AND handler = 'h';
SELECT count(*) FROM pgq_queues, pgq_enqueuer, pgq_handlers;
SELECT * FROM pgq_check();
RESET ALL;

-- A database, role or server that is read-only by default.
SELECT pgq_enqueue('kept', '1', 'key', idempotency_key => 'kept') IS NOT NULL;
SELECT pgq_sync();
SELECT job_id FROM pgq_dequeue(1, lease => '1 h') \gset
SET default_transaction_read_only = on;
SELECT * FROM pgq_dequeue();
SELECT pgq_complete(:job_id, 1);
SELECT pgq_complete(ARRAY[:job_id], ARRAY[1]);
SELECT pgq_fail(:job_id, 1, 'x');
SELECT pgq_extend(:job_id, 1);
SELECT pgq_release(:job_id, 1);
SELECT pgq_cancel(:job_id);
SELECT pgq_retry(:job_id);
SELECT pgq_retry_event(1);
SELECT pgq_enqueue('h', '1');
SELECT pgq_create_queue('q');
SELECT pgq_alter_queue('default', 1);
SELECT pgq_drop_queue('default');
SELECT pgq_create_handler('h', 'callers_ev');
SELECT pgq_alter_handler('h');
SELECT pgq_drop_handler('h');
SELECT pgq_grant('pg_monitor', 'monitor');
SELECT pgq_revoke('pg_monitor', 'monitor');
-- Looking is free.
SELECT pgq_sync();
SELECT status, attempt, failures FROM pgq_jobs WHERE job_id = :job_id;
SELECT queue, max_attempts, running FROM pgq_queues;
SELECT * FROM pgq_check();
SET default_transaction_read_only = off;

-- A call that is cancelled has not happened; see also the spec caller_timeouts.
SET statement_timeout = '50 ms';
SELECT pgq_complete(:job_id, 1), pg_sleep(10);
SELECT pgq_fail(:job_id, 1, 'x'), pg_sleep(10);
SELECT pgq_release(:job_id, 1), pg_sleep(10);
SELECT pgq_cancel(:job_id), pg_sleep(10);
RESET statement_timeout;
SELECT status, attempt, failures FROM pgq_jobs WHERE job_id = :job_id;
SELECT pgq_complete(:job_id, 1);

-- Prepared statements outlive the extension: another one of its name answers them.
PREPARE enqueue AS SELECT pgq_enqueue('prepared', to_jsonb($1::int)) > 0;
PREPARE dequeue AS SELECT handler, args, attempt FROM pgq_dequeue(10, lease => '1 h');
PREPARE complete AS SELECT count(pgq_complete(job_id, attempt)) FROM pgq_jobs WHERE status = 'in_progress';
PREPARE look AS SELECT queue, ready, running FROM pgq_queues;
EXECUTE enqueue(1);
SELECT pgq_sync();
EXECUTE dequeue;
EXECUTE look;
EXECUTE complete;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
EXECUTE enqueue(2);
EXECUTE dequeue;
EXECUTE look;
CREATE EXTENSION pgq_ext;
EXECUTE enqueue(3);
SELECT pgq_sync();
EXECUTE dequeue;
EXECUTE look;
EXECUTE complete;
EXECUTE look;
DEALLOCATE ALL;
-- So do functions that have it in their plans.
SELECT begin_with('again');
SELECT pgq_sync();
SELECT end_with('again');
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP TABLE callers_ev, outcomes, settings, taken;
DROP FUNCTION begin_with, end_with;
