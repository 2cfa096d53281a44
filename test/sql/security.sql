-- Nobody gains rights. Each attack is made by a role that has no more than it needs to make it.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE ROLE regress_pgq_owner;
CREATE ROLE regress_pgq_writer;
CREATE ROLE regress_pgq_app;
CREATE SCHEMA attack AUTHORIZATION regress_pgq_owner;
CREATE SCHEMA app AUTHORIZATION regress_pgq_app;
SELECT pgq_grant('regress_pgq_owner', 'administer');
GRANT USAGE ON SCHEMA app TO regress_pgq_owner;
CREATE TABLE secret AS SELECT 'of others' AS v;
CREATE TABLE security_ev (k text);
GRANT SELECT, INSERT ON security_ev TO regress_pgq_owner;
CREATE FUNCTION error_in_security(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
RESET client_min_messages;

-- What a function in an expression tries, as the owner of its handler. Each is called for one event.
SET ROLE regress_pgq_owner;
CREATE TABLE attack.tricks (n serial, name text, body text);
INSERT INTO attack.tricks (name, body) VALUES
    ('who', $$RETURN current_user$$),
    ('set_role', $$EXECUTE format('SET ROLE %I', session_user)$$),
    ('reset_role', $$RESET ROLE$$),
    ('set_config_role', $$PERFORM set_config('role', session_user, false)$$),
    ('session_authorization', $$RESET SESSION AUTHORIZATION$$),
    ('read_write', $$SET TRANSACTION READ WRITE$$),
    ('read_write_caught', $$BEGIN SET transaction_read_only = off; EXCEPTION WHEN OTHERS THEN NULL; END; DELETE FROM attack.tricks$$),
    ('replica', $$SET session_replication_role = replica$$),
    ('read', $$PERFORM FROM public.secret$$),
    ('write', $$DELETE FROM attack.tricks$$),
    ('lock_rows', $$PERFORM FROM attack.tricks FOR UPDATE$$),
    ('sequence', $$PERFORM nextval('attack.tricks_n_seq')$$),
    ('temporary', $$CREATE TEMP TABLE x ()$$),
    ('function', $$CREATE FUNCTION attack.more() RETURNS void LANGUAGE sql AS ''$$),
    ('superuser', $$ALTER ROLE regress_pgq_owner SUPERUSER$$),
    ('program', $$COPY (SELECT 1) TO PROGRAM 'true'$$),
    ('file', $$PERFORM pg_read_file('PG_VERSION')$$),
    ('lo_import', $$PERFORM lo_import('PG_VERSION')$$),
    ('listen', $$LISTEN x$$),
    ('prepare', $$EXECUTE 'PREPARE x AS SELECT 1'$$),
    ('hold', $$EXECUTE 'DECLARE x CURSOR WITH HOLD FOR SELECT 1'$$),
    ('discard', $$EXECUTE 'DISCARD ALL'$$),
    ('commit', $$COMMIT$$),
    ('slots', $$PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()$$),
    ('terminate', $$PERFORM pg_terminate_backend(pg_backend_pid())$$),
    ('announce', $$PERFORM public.pgq_announce()$$),
    ('cancel_jobs', $$PERFORM public.pgq_cancel(1)$$),
    ('settings', $$PERFORM set_config('search_path', 'attack', false), set_config('TimeZone', 'Asia/Tokyo', false),
                           set_config('attack.x', 'left', false), set_config('statement_timeout', '1', false), pg_advisory_lock(4711)$$),
    ('settings_left', $$RETURN concat_ws(' ', current_setting('search_path'), current_setting('TimeZone'), current_setting('attack.x', true),
                               current_setting('statement_timeout'), current_setting('transaction_read_only'), current_user)$$);
SELECT format('CREATE FUNCTION attack.%I(text) RETURNS text LANGUAGE plpgsql AS %L', name, 'BEGIN ' || body || '; RETURN ''done''; END')
  FROM attack.tricks ORDER BY n \gexec
SELECT count(public.pgq_create_handler(name, 'public.security_ev', format('attack.%I(k)', name))) FROM (SELECT name FROM attack.tricks ORDER BY n) t;
INSERT INTO public.security_ev VALUES ('event');
RESET ROLE;
SELECT pgq_sync();
SELECT t.name, j.serialization_key AS did, e.sqlstate, replace(e.error, session_user, 'postgres') AS error
  FROM attack.tricks t LEFT JOIN pgq_jobs j ON j.handler = t.name LEFT JOIN pgq_event_errors e ON e.handler = t.name ORDER BY t.n;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711;
SELECT state, last_error FROM pgq_enqueuer;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_pgq_owner';
SET ROLE regress_pgq_owner;
SELECT count(public.pgq_drop_handler(name)) FROM attack.tricks;
RESET ROLE;

-- What runs without being called: constants when the expression is planned, the constraint of a domain when a row is
-- converted, a cast to json when it is rendered.
SET ROLE regress_pgq_owner;
CREATE FUNCTION attack.constant() RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN current_user; END';
SELECT public.pgq_create_handler('constant', 'public.security_ev', 'attack.constant()');
INSERT INTO public.security_ev VALUES ('constant');
RESET ROLE;
SELECT pgq_sync();
SELECT serialization_key FROM pgq_jobs WHERE handler = 'constant';
SELECT pgq_drop_handler('constant');
-- A superuser's handler over the table of somebody else, who attaches to it what he likes.
SET ROLE regress_pgq_app;
CREATE TABLE app.ev (k text, n text);
RESET ROLE;
SELECT pgq_create_handler('superusers', 'app.ev', 'k');
SET ROLE regress_pgq_app;
CREATE FUNCTION app.check_of(text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('search_path') = 'pg_catalog, pg_temp' THEN -- in the enqueuer
        RAISE 'domain checked by %', current_user;
    END IF;
    RETURN true;
END $$;
CREATE TYPE app.mood AS ENUM ('glad');
CREATE FUNCTION app.cast_of(app.mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RETURN to_json('cast by ' || current_user); END $$;
CREATE CAST (app.mood AS json) WITH FUNCTION app.cast_of(app.mood);
ALTER TABLE app.ev ADD COLUMN mood app.mood;
INSERT INTO app.ev VALUES ('cast', '1', 'glad');
RESET ROLE;
SELECT pgq_sync();
SELECT args FROM pgq_jobs WHERE serialization_key = 'cast';
BEGIN;
SET LOCAL ROLE regress_pgq_app;
INSERT INTO app.ev VALUES ('domain', '1');
CREATE DOMAIN app.checked AS text CHECK (app.check_of(VALUE));
ALTER TABLE app.ev ALTER COLUMN n TYPE app.checked;
COMMIT;
SELECT pgq_sync();
SELECT event ->> 'k' AS k, error FROM pgq_event_errors WHERE handler = 'superusers';
SELECT pgq_drop_handler('superusers');

-- The view that holds a handler's expressions belongs to its owner. He may break his handler, and no more.
SET ROLE regress_pgq_owner;
SELECT public.pgq_create_handler('viewed', 'public.security_ev', 'k');
RESET ROLE;
SELECT rule::regclass AS view FROM pgq_handler WHERE handler = 'viewed' \gset
SET ROLE regress_pgq_owner;
CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO :view DO INSTEAD
    SELECT true AS matches, v AS serialization_key, 0 AS priority, '{}'::jsonb AS args FROM public.secret;
INSERT INTO public.security_ev VALUES ('from another table');
RESET ROLE;
SELECT pgq_sync();
SET ROLE regress_pgq_owner;
CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO :view DO INSTEAD
    SELECT true AS matches, 'none'::text AS serialization_key, 0 AS priority, '{}'::jsonb AS args;
INSERT INTO public.security_ev VALUES ('from no table');
SELECT error_in_security('ALTER VIEW ' || :'view' || ' OWNER TO ' || session_user) ~ '^42501';
SELECT error_in_security('ALTER VIEW ' || :'view' || ' RENAME TO x'), error_in_security('CREATE OR REPLACE VIEW ' || :'view' || ' AS SELECT 1');
SELECT pgq_alter_handler('viewed', filter => 'true');
RESET ROLE;
SELECT pgq_sync();
SELECT serialization_key FROM pgq_jobs WHERE handler = 'viewed';
SELECT event, sqlstate, error FROM pgq_event_errors WHERE handler = 'viewed' ORDER BY error_id;
SELECT pgq_drop_handler('viewed');
-- Others may not touch his handler at all.
SELECT pgq_create_handler('mine', 'security_ev');
SET ROLE regress_pgq_owner;
SELECT pgq_alter_handler('mine', filter => 'false');
SELECT pgq_drop_handler('mine');
RESET ROLE;
SELECT pgq_drop_handler('mine');
-- Temporary objects end with the session.
CREATE FUNCTION pg_temp.f(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
SELECT pgq_create_handler('temporary', 'security_ev', 'pg_temp.f(k)');

-- A role that may write every table, by GRANT or by membership, can write jobs but not rights, and plant nothing.
GRANT ALL ON ALL TABLES IN SCHEMA public TO regress_pgq_writer;
SELECT pgq_grant('regress_pgq_writer', 'produce'), pgq_grant('regress_pgq_writer', 'administer');
GRANT CREATE ON SCHEMA public TO regress_pgq_writer;
GRANT pg_write_all_data TO regress_pgq_writer;
SET ROLE regress_pgq_writer;
SELECT error_in_security('CREATE INDEX ON pgq_job (upper(handler))'), error_in_security('INSERT INTO pgq_queue_worker VALUES (''default'', ''regress_pgq_writer'')');
CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted runs as %', current_user; END $$;
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_request FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_queue FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_idempotency FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_job FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_archive FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_event_error FOR EACH ROW EXECUTE FUNCTION planted();
CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pgq_queue_worker FOR EACH ROW EXECUTE FUNCTION planted();
SELECT error_in_security('CREATE RULE r AS ON INSERT TO pgq_request DO INSTEAD NOTHING'), error_in_security('ALTER TABLE pgq_request ENABLE ALWAYS TRIGGER planted');
SELECT error_in_security('CREATE POLICY p ON pgq_handler'), error_in_security('ALTER TABLE pgq_handler DISABLE ROW LEVEL SECURITY');
SELECT error_in_security('INSERT INTO pgq_handler (handler, source, rule, queue, retired_rule, owner) VALUES (''x'', 1, 0, ''default'', '''', 10)');
WITH u AS (UPDATE pgq_handler SET owner = 10 RETURNING *) SELECT count(*) AS rows_of_pgq_handler FROM u;
SELECT pgq_create_queue('planted'), pgq_alter_queue('planted', 7), pgq_enqueue('h', '1', queue => 'planted', idempotency_key => 'i') > 0;
RESET ROLE;
SELECT pgq_sync();
SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(1, 'planted');
SELECT pgq_grant('regress_pgq_app', 'work', 'planted'), pgq_drop_queue('planted');
SELECT * FROM pgq_check();
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM regress_pgq_writer;
REVOKE CREATE ON SCHEMA public FROM regress_pgq_writer;
REVOKE pg_write_all_data FROM regress_pgq_writer;

-- Row-level security of a source: who is under it may not have every row by a handler.
SET ROLE regress_pgq_app;
CREATE TABLE app.orders (id int, tenant text, card text);
GRANT SELECT ON app.orders TO regress_pgq_owner;
RESET ROLE;
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('orders', 'app.orders', 'tenant');
RESET ROLE;
INSERT INTO app.orders VALUES (1, 'before', '4711');
SELECT pgq_sync();
ALTER TABLE app.orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.orders USING (tenant = current_user);
INSERT INTO app.orders VALUES (2, 'under', '4711');
SELECT pgq_sync();
SELECT serialization_key FROM pgq_jobs WHERE handler = 'orders';
SELECT event, sqlstate, error FROM pgq_event_errors WHERE handler = 'orders';
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('orders_too', 'app.orders');
SET row_security = off;
SELECT pgq_create_handler('orders_too', 'app.orders');
RESET row_security;
SELECT pgq_alter_handler('orders', filter => 'true');
RESET ROLE;
-- Its owner is exempt, until he says otherwise; so is who may bypass it.
SELECT pgq_grant('regress_pgq_app', 'administer');
SET ROLE regress_pgq_app;
SELECT pgq_create_handler('orders_of_app', 'app.orders');
ALTER TABLE app.orders FORCE ROW LEVEL SECURITY;
SELECT pgq_alter_handler('orders_of_app', filter => 'true');
RESET ROLE;
ALTER ROLE regress_pgq_owner BYPASSRLS;
INSERT INTO app.orders VALUES (3, 'bypassed', '4711');
SELECT pgq_sync();
SELECT serialization_key FROM pgq_jobs WHERE handler = 'orders';
SELECT handler, event, sqlstate FROM pgq_event_errors WHERE handler ~ '^orders' ORDER BY error_id;
ALTER TABLE app.orders DISABLE ROW LEVEL SECURITY;
-- An event error is tried again with the rights of the moment.
SELECT count(pgq_retry_event(error_id)) FROM pgq_event_errors WHERE handler ~ '^orders';
SELECT pgq_sync();
SELECT handler, args ->> 'tenant' AS tenant FROM pgq_jobs WHERE handler ~ '^orders' ORDER BY position;
-- Some columns are not the table.
REVOKE SELECT ON app.orders FROM regress_pgq_owner;
GRANT SELECT (id, tenant) ON app.orders TO regress_pgq_owner;
INSERT INTO app.orders VALUES (4, 'columns', '4711');
SELECT pgq_sync();
SELECT sqlstate, error FROM pgq_event_errors WHERE handler = 'orders';
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('orders_too', 'app.orders', 'tenant', args => 'to_jsonb(id)');
RESET ROLE;

-- The output plugin is the enqueuer's.
DO $$ BEGIN SET output_plugin_libraries = pgq_ext; EXCEPTION WHEN undefined_object THEN NULL; END $$;
SELECT pg_create_logical_replication_slot('regress_pgq', 'pgq_ext');

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;

-- Who owns the schema can rename it and put another one in its place: nothing of ours goes by its name.
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_pgq_app', current_database()); END $$;
CREATE SCHEMA ext AUTHORIZATION regress_pgq_app;
CREATE EXTENSION pgq_ext SCHEMA ext;
SELECT ext.pgq_grant('regress_pgq_app', word) FROM unnest(ARRAY['produce', 'work', 'monitor', 'administer']) word;
SET ROLE regress_pgq_app;
ALTER SCHEMA ext RENAME TO moved;
CREATE SCHEMA ext;
CREATE FUNCTION ext.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped as %', current_user; END $$;
DO $$
DECLARE
    impostor text;
BEGIN
    FOR impostor IN
        SELECT format('CREATE TABLE ext.%I (%s, CHECK (ext.trap()))', relname, string_agg(format('%I %s', attname, atttypid::regtype), ', '))
          FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0
         WHERE relnamespace = 'moved'::regnamespace AND relkind = 'r' GROUP BY relname LOOP
        EXECUTE impostor;
    END LOOP;
END $$;
SELECT moved.pgq_create_queue('q'), moved.pgq_alter_queue('q', 7), moved.pgq_enqueue('h', '1', idempotency_key => 'i') > 0 AS enqueued;
SELECT moved.pgq_create_handler('h', 'ext.pgq_request', 'queue');
SELECT moved.pgq_drop_handler('h'), moved.pgq_drop_queue('q');
SELECT moved.pgq_sync();
SELECT moved.pgq_complete(job_id, attempt) FROM moved.pgq_dequeue(1);
SELECT * FROM moved.pgq_check();
SELECT queue FROM moved.pgq_queues;
DROP TABLE moved.pgq_job CASCADE;
RESET ROLE;
SELECT moved.pgq_grant('regress_pgq_owner', 'work', 'default'), moved.pgq_revoke('regress_pgq_owner', 'work');
-- What only a superuser does: he holds jobs, restores some, and lets them go.
SELECT moved.pgq_enqueue('h', '2') > 0 AS enqueued;
SELECT moved.pgq_sync();
BEGIN;
SELECT moved.pgq_hold_jobs();
INSERT INTO moved.pgq_job SELECT 1000, 1, now(), now(), 0, 0, 0, 'r', false, true, NULL, 'default', 'h';
INSERT INTO moved.pgq_request (job_id, kind, queue, handler) VALUES (1001, 'e', 'default', 'h');
INSERT INTO moved.pgq_queue SELECT queue, 9, lease, backoff, max_backoff FROM moved.pgq_queue;
SELECT moved.pgq_adopt_jobs(), moved.pgq_adopt_handlers(), (SELECT max_attempts FROM moved.pgq_queue);
ROLLBACK;
SELECT * FROM moved.pgq_check();
DROP EXTENSION pgq_ext;
SET client_min_messages = warning;
DROP SCHEMA attack, app, ext, moved CASCADE;
DROP TABLE security_ev, secret;
DROP FUNCTION error_in_security, planted;
DROP OWNED BY regress_pgq_owner, regress_pgq_writer, regress_pgq_app;
DROP ROLE regress_pgq_owner, regress_pgq_writer, regress_pgq_app;
