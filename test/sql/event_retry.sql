-- pgq_retry_event: an event error is tried again by the handler as it is by then, and becomes a job, or is filtered out,
-- or stays an event error with the new reason. Never a job with a value that the event did not have.
\pset null '(null)'
\set sqlstate '\\echo SQLSTATE :LAST_ERROR_SQLSTATE'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('sad', 'ok');
CREATE TABLE app.ev (id int, k text, n numeric, t timestamptz, b bytea, m app.mood, a int[]);
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority AS p, args FROM pgq_jobs ORDER BY position;
CREATE VIEW app.errors AS
    SELECT error_id, handler, event ->> 'id' AS id, sqlstate, error FROM pgq_event_errors ORDER BY error_id;

SELECT pgq_create_handler('h', 'app.ev', 'k', priority => '100 / (id - 2)');
INSERT INTO app.ev VALUES (1, 'one', 1, 'infinity', '\x00ff', 'ok', '{1,NULL}'), (2, 'two', 'NaN', '2001-02-03 04:05:06+07', '\x00ff', 'sad', '{2}'),
    (2, 'two', NULL, NULL, '', NULL, '{}');
INSERT INTO app.ev (id, k) VALUES (3, 'three');
SELECT pgq_sync();
SELECT handler, key, p FROM app.jobs;
SELECT * FROM app.errors;
-- As it is, it fails again; the error stays.
SELECT pgq_retry_event(1);
SELECT pgq_sync();
SELECT * FROM app.errors;
-- Mended, the events are jobs, at the end, with their values as a job that had not failed would have them.
SELECT pgq_alter_handler('h', priority => 'id', args => 'to_jsonb(ev) - ''k''');
SELECT pgq_retry_event(error_id) FROM app.errors;
SELECT pgq_sync();
SELECT * FROM app.errors;
SELECT * FROM app.jobs;
SET TimeZone = 'UTC'; -- as it is where jobs are made
SELECT count(*) AS same FROM app.ev, app.jobs j WHERE j.args = to_jsonb(ev) - 'k' AND j.p = 2;
-- Once is once.
SELECT pgq_retry_event(1);
SELECT pgq_retry_event(4711);
SELECT pgq_retry_event(NULL);
:sqlstate

-- What a filter now leaves out is gone, what its handler can't any more for want of a source stays; a rolled-back try is none.
SELECT pgq_alter_handler('h', args => 'k');
INSERT INTO app.ev (id, k) VALUES (5, 'five'), (6, 'six');
SELECT pgq_sync();
SELECT * FROM app.errors;
BEGIN;
SELECT pgq_retry_event(error_id) FROM app.errors;
ROLLBACK;
SELECT pgq_alter_handler('h', filter => 'id <> 5', args => '');
SELECT pgq_sync();
SELECT count(*) FROM app.errors;
SELECT pgq_retry_event(error_id) FROM app.errors;
SELECT pgq_sync();
SELECT * FROM app.errors;
SELECT handler, key, p FROM app.jobs WHERE key IN ('five', 'six');
-- The shape has changed since: what can't be read into the table as it is now is an error, not a NULL.
SELECT pgq_alter_handler('h', filter => '', args => 'k');
INSERT INTO app.ev (id, k) VALUES (7, 'seven'), (8, '8');
SELECT pgq_sync();
SELECT pgq_alter_handler('h', args => '');
BEGIN;
DELETE FROM app.ev;
SELECT pgq_drop_handler('h');
ALTER TABLE app.ev ALTER COLUMN k TYPE int USING NULL;
SELECT pgq_create_handler('h', 'app.ev', 'k', priority => 'id');
COMMIT;
SELECT pgq_retry_event(error_id) FROM app.errors;
SELECT pgq_sync();
SELECT id, sqlstate, error FROM app.errors;
SELECT handler, key, p FROM app.jobs WHERE p IN (7, 8);
-- A value whose column has another name now is not lost for a NULL.
ALTER TABLE app.ev RENAME COLUMN k TO kk;
SELECT pgq_retry_event(error_id) FROM app.errors;
SELECT pgq_sync();
SELECT id, sqlstate, error FROM app.errors;
-- It has a time limit of its own, and that of what comes behind it in the same transaction goes on.
ALTER SYSTEM SET pgq_ext.expression_timeout = '1s';
SELECT pg_reload_conf();
CREATE TABLE app.slow (k text);
CREATE FUNCTION app.slow(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    IF $1 = 'slow' THEN PERFORM pg_sleep(3600); END IF;
    RETURN $1;
END $$;
SELECT pgq_create_handler('slow', 'app.slow', 'app.slow(k)');
BEGIN;
SELECT pgq_retry_event(error_id) FROM app.errors;
INSERT INTO app.slow VALUES ('slow'), ('quick');
COMMIT;
SELECT pgq_sync('1 min');
SELECT handler, sqlstate, error FROM app.errors;
SELECT key FROM app.jobs WHERE handler = 'slow';
ALTER SYSTEM RESET pgq_ext.expression_timeout;
SELECT pg_reload_conf();
SELECT pgq_drop_handler('slow');
DELETE FROM pgq_event_error WHERE handler = 'slow';
-- Without a handler of that name it stays.
SELECT pgq_drop_handler('h');
SELECT pgq_retry_event(error_id) FROM app.errors;
SELECT pgq_sync();
SELECT id, sqlstate, error FROM app.errors;
BEGIN READ ONLY;
SELECT pgq_retry_event(1);
:sqlstate
ROLLBACK;
SELECT * FROM pgq_check();

DROP EXTENSION pgq_ext CASCADE;
DROP SCHEMA app CASCADE;
