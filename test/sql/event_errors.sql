-- Event errors: what an expression raises is recorded for that event and that handler, and everything else goes on.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE TABLE app.ev (id int, k text, p int DEFAULT 0, body jsonb);
CREATE TABLE app.other (k text);
SELECT pgq_create_handler('good', 'app.ev', 'k');
SELECT pgq_create_handler('bystander', 'app.other', 'k');
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority AS p, args FROM pgq_jobs ORDER BY position;
CREATE VIEW app.errors AS
    SELECT handler, source, event ->> 'id' AS id, sqlstate, error,
           occurred_at BETWEEN now() - interval '1 hour' AND clock_timestamp() AS now, lsn <= pg_current_wal_lsn() AS passed
      FROM pgq_event_errors ORDER BY error_id;

-- One of ten rows fails, in the middle of one transaction: nine jobs, one error, and no gap for others.
SELECT pgq_create_handler('tenth', 'app.ev', '(1 / p)::text');
INSERT INTO app.ev SELECT i, 'e' || i, i % 10 FROM generate_series(1, 1000) i;
INSERT INTO app.other VALUES ('behind');
SELECT pgq_sync();
SELECT handler, count(*) FROM pgq_jobs GROUP BY 1 ORDER BY 1;
SELECT handler, sqlstate, error, count(*), count(DISTINCT event ->> 'id'), min(event ->> 'p') FROM pgq_event_errors GROUP BY 1, 2, 3;
SELECT * FROM app.errors LIMIT 1;
SELECT event FROM pgq_event_errors ORDER BY error_id LIMIT 1;
-- The order of jobs is that of the events, errors or not.
SELECT bool_and(n > before) FROM (SELECT (args ->> 'id')::int AS n, lag((args ->> 'id')::int, 1, 0) OVER (ORDER BY position) AS before
  FROM pgq_jobs WHERE handler = 'tenth') x;
SELECT pgq_drop_handler('tenth');
TRUNCATE pgq_event_error;

-- Each expression's own errors.
SELECT pgq_create_handler('filter', 'app.ev', filter => 'p / 0 = 1');
SELECT pgq_create_handler('priority', 'app.ev', priority => 'nullif(p, p)');
SELECT pgq_create_handler('args', 'app.ev', args => 'k');
CREATE FUNCTION app.dup(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE unique_violation USING MESSAGE = 'from user code: ' || $1; END $$;
SELECT pgq_create_handler('dup', 'app.ev', 'app.dup(k)');
-- Only what is needed is evaluated: no key for what the filter leaves out.
SELECT pgq_create_handler('lazy', 'app.ev', 'app.dup(k)', filter => 'p > 100');
INSERT INTO app.ev VALUES (1, 'not json', 1);
SELECT pgq_sync();
SELECT * FROM app.errors;
SELECT handler, key FROM app.jobs WHERE args ->> 'k' = 'not json';
SELECT pgq_drop_handler(h) FROM unnest(ARRAY['filter', 'priority', 'args', 'dup', 'lazy']) h;
TRUNCATE pgq_event_error;

-- Expressions that never end, that are too deep, or too big.
ALTER SYSTEM SET pgq_ext.expression_timeout = '1s';
SELECT pg_reload_conf();
CREATE FUNCTION app.slow(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    IF t = 'slow' THEN PERFORM pg_sleep(3600);
    ELSIF t = 'loop' THEN LOOP NULL; END LOOP;
    ELSIF t = 'deep' THEN RETURN app.slow(t);
    ELSIF t = 'big' THEN RETURN repeat('x', 1073741823);
    END IF;
    RETURN t;
END $$;
SELECT pgq_create_handler('slow', 'app.ev', 'app.slow(k)');
INSERT INTO app.ev VALUES (1, 'slow'), (2, 'deep'), (3, 'big'), (4, 'fine'), (5, 'loop'), (6, 'fine too');
INSERT INTO app.other VALUES ('behind the slow one');
SELECT pgq_sync('1 min');
SELECT id, sqlstate, error FROM app.errors;
SELECT handler, key FROM app.jobs WHERE handler = 'slow' OR key LIKE 'behind the%';
SELECT count(*) FROM app.jobs WHERE handler = 'good' AND key IN ('slow', 'deep', 'big', 'fine', 'loop', 'fine too');
ALTER SYSTEM RESET pgq_ext.expression_timeout;
SELECT pg_reload_conf();
SELECT pgq_drop_handler('slow');
TRUNCATE pgq_event_error;

-- An expression may write nothing, change nobody's settings or role, and speak to nobody: neither with the enqueuer's
-- rights nor with its owner's.
CREATE ROLE regress_pgq_owner;
GRANT USAGE ON SCHEMA app TO regress_pgq_owner;
GRANT CREATE ON SCHEMA app TO regress_pgq_owner;
GRANT SELECT ON app.ev TO regress_pgq_owner;
GRANT EXECUTE ON FUNCTION pgq_create_handler TO regress_pgq_owner;
CREATE TABLE app.secret (s text);
SET ROLE regress_pgq_owner;
CREATE TABLE app.own (t text);
CREATE FUNCTION app.act(k text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    CASE k
        WHEN 'who' THEN RETURN current_user || ' ' || current_setting('search_path');
        WHEN 'secret' THEN RETURN (SELECT s FROM app.secret);
        WHEN 'write' THEN INSERT INTO app.own VALUES ('x');
        WHEN 'temp' THEN CREATE TEMP TABLE t (a int);
        WHEN 'role' THEN EXECUTE 'RESET ROLE';
        WHEN 'session' THEN EXECUTE 'RESET SESSION AUTHORIZATION';
        WHEN 'read write' THEN SET transaction_read_only = off; INSERT INTO app.own VALUES ('x');
        WHEN 'listen' THEN LISTEN x;
        WHEN 'xact' THEN COMMIT;
        WHEN 'path' THEN SET search_path = app; RETURN current_setting('search_path');
        WHEN 'caught' THEN
            BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN RETURN 'caught ' || current_setting('search_path'); END;
    END CASE;
    RETURN 'did it';
END $$;
SELECT pgq_create_handler('act', 'app.ev', 'app.act(k)');
RESET ROLE;
INSERT INTO app.ev (id, k) SELECT 1, unnest(ARRAY['who', 'secret', 'write', 'temp', 'role', 'session', 'read write', 'listen',
                                                  'xact', 'path', 'who', 'caught', 'who']);
SELECT pgq_sync();
SELECT args ->> 'k' AS k, key FROM app.jobs WHERE handler = 'act';
SELECT event ->> 'k' AS k, sqlstate, error FROM pgq_event_errors ORDER BY error_id;
SELECT count(*) FROM app.own;
TRUNCATE pgq_event_error;
-- The owner must hold SELECT at each evaluation, and EXECUTE on what he calls.
REVOKE SELECT ON app.ev FROM regress_pgq_owner;
INSERT INTO app.ev VALUES (2, 'who');
SELECT pgq_sync();
GRANT SELECT ON app.ev TO regress_pgq_owner;
REVOKE EXECUTE ON FUNCTION app.act FROM PUBLIC, regress_pgq_owner;
INSERT INTO app.ev VALUES (3, 'who');
SELECT pgq_sync();
GRANT EXECUTE ON FUNCTION app.act TO regress_pgq_owner;
INSERT INTO app.ev VALUES (4, 'who');
SELECT pgq_sync();
SELECT * FROM app.errors;
SELECT args ->> 'id' AS id, key FROM app.jobs WHERE handler = 'act' AND args ->> 'id' > '1';
SELECT pgq_drop_handler('act');
TRUNCATE pgq_event_error;

-- A column that an expression uses can't be dropped but with CASCADE: then the events are errors until the handler is
-- altered, and nothing that was there before comes back to life by itself.
SELECT pgq_create_handler('col', 'app.ev', 'p', args => 'jsonb_build_object(''id'', id)');
\set VERBOSITY terse
ALTER TABLE app.ev DROP COLUMN p;
\set VERBOSITY default
BEGIN;
INSERT INTO app.ev VALUES (10, 'k', 7);
ALTER TABLE app.ev DROP COLUMN p CASCADE;
COMMIT;
ALTER TABLE app.ev ADD COLUMN p text DEFAULT 'four';
INSERT INTO app.ev VALUES (11, 'k', NULL, '5');
INSERT INTO app.other VALUES ('goes on');
SELECT pgq_sync();
SELECT * FROM app.errors;
SELECT handler, orphaned FROM pgq_handlers ORDER BY 1;
SELECT pgq_alter_handler('col', 'app.ev', 'p', args => 'jsonb_build_object(''id'', id)');
SELECT pgq_alter_handler('good', 'app.ev');
INSERT INTO app.ev VALUES (12, 'k', NULL, '6');
SELECT pgq_sync();
SELECT handler, key, args FROM app.jobs WHERE handler = 'col' OR key = 'goes on';
SELECT handler, orphaned FROM pgq_handlers ORDER BY 1;
TRUNCATE pgq_event_error;
-- A type that changes: an expression that does not use the column does not mind, and no value is read as another type.
CREATE TABLE app.retyped (id int, v int, w text);
SELECT pgq_create_handler('retyped', 'app.retyped', 'id', args => 'jsonb_build_object(''w'', w)');
BEGIN;
INSERT INTO app.retyped VALUES (1, 1, 'one');
ALTER TABLE app.retyped ALTER COLUMN v TYPE text USING v::text;
INSERT INTO app.retyped VALUES (2, '2', 'two');
COMMIT;
ALTER TABLE app.retyped ALTER COLUMN v TYPE numeric(5,2) USING v::numeric;
INSERT INTO app.retyped VALUES (3, 3.14, 'three');
SELECT pgq_sync();
SELECT key, args FROM app.jobs WHERE handler = 'retyped';
SELECT pgq_alter_handler('retyped', args => '');
BEGIN;
INSERT INTO app.retyped VALUES (4, 4.25, 'four');
ALTER TABLE app.retyped ALTER COLUMN v TYPE text;
INSERT INTO app.retyped VALUES (5, 'five', 'five');
COMMIT;
SELECT pgq_sync();
SELECT key, args FROM app.jobs WHERE handler = 'retyped' UNION ALL
SELECT event ->> 'id', to_jsonb(error) FROM pgq_event_errors ORDER BY 1;
TRUNCATE pgq_event_error;
-- A type, a function, the table: gone with CASCADE, with rows on their way. Each event is accounted for, once.
CREATE TYPE app.mood AS ENUM ('new', 'old');
CREATE TABLE app.moods (id int, m app.mood);
CREATE FUNCTION app.fn(int) RETURNS text LANGUAGE sql AS $$ SELECT 'f' || $1 $$;
SELECT pgq_create_handler('moods', 'app.moods', 'm');
SELECT pgq_create_handler('fn', 'app.moods', 'app.fn(id)', args => 'to_jsonb(id)');
INSERT INTO app.moods VALUES (1, 'new');
SELECT pgq_sync();
\set VERBOSITY terse
DROP TYPE app.mood;
DROP FUNCTION app.fn;
DROP TABLE app.moods;
\set VERBOSITY default
BEGIN;
INSERT INTO app.moods VALUES (2, 'old');
DROP FUNCTION app.fn CASCADE;
INSERT INTO app.moods VALUES (3, 'old');
DROP TYPE app.mood CASCADE;
INSERT INTO app.moods VALUES (4);
DROP TABLE app.moods CASCADE;
CREATE TABLE app.moods (id int, m text);
INSERT INTO app.moods VALUES (5, 'another table');
COMMIT;
INSERT INTO app.moods VALUES (6, 'another table');
INSERT INTO app.other VALUES ('still goes on');
SELECT pgq_sync();
SELECT handler, key, args FROM app.jobs WHERE handler IN ('moods', 'fn') OR key = 'still goes on';
SELECT handler, event, sqlstate, error FROM pgq_event_errors ORDER BY error_id;
SELECT * FROM pgq_check();

DROP OWNED BY regress_pgq_owner;
DROP EXTENSION pgq_ext CASCADE;
DROP SCHEMA app CASCADE;
DROP ROLE regress_pgq_owner;
