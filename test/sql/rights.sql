-- What others wrote runs with the rights of the handler's owner and writes nothing, whatever way it is reached: nobody
-- gains the background worker's rights. And a handler's owner can't do harm with the view that is his.
CREATE EXTENSION pgq_ext;
CREATE ROLE pgq_test_mallory;
GRANT EXECUTE ON FUNCTION pgq_create_handler, pgq_alter_handler, pgq_drop_handler TO pgq_test_mallory;
CREATE SCHEMA m AUTHORIZATION pgq_test_mallory;
CREATE TABLE seen (how text, by_whom text, read_only text);
GRANT INSERT ON seen TO PUBLIC;
SET ROLE pgq_test_mallory;
-- Tells by its error who runs it.
CREATE FUNCTION m.tell() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.seen VALUES ('written', current_user, current_setting('transaction_read_only'));
    RETURN 'written by ' || current_user;
EXCEPTION WHEN read_only_sql_transaction THEN
    RETURN 'read only, as ' || current_user;
END $$;

-- A constant is evaluated when the expression is planned.
CREATE FUNCTION m.constant() RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN m.tell(); END $$;
CREATE TABLE m.a (k text);
SELECT pgq_create_handler('constant', 'm.a', 'm.constant()');

-- A type of one's own may have a cast to json, and an event that fails is shown as json.
CREATE TYPE m.letter AS ENUM ('x');
CREATE FUNCTION m.to_json(m.letter) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RETURN to_json(m.tell()); END $$;
CREATE CAST (m.letter AS json) WITH FUNCTION m.to_json(m.letter);
CREATE TABLE m.b (k text, l m.letter, n int);
SELECT pgq_create_handler('cast', 'm.b', args => '(1 / 0)::text::jsonb');
SELECT pgq_create_handler('cast in args', 'm.b', args => 'to_jsonb(l)');

-- A column may have become a domain since the row was written.
CREATE FUNCTION m.mine(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN current_user = 'pgq_test_mallory'; END $$;
CREATE DOMAIN m.word AS text CHECK (m.mine(value));
CREATE TABLE m.c (k text);
SELECT pgq_create_handler('domain', 'm.c');

INSERT INTO m.a VALUES ('a');
INSERT INTO m.b VALUES ('b', 'x', 1);
BEGIN;
INSERT INTO m.c VALUES ('c');
ALTER TABLE m.c ALTER COLUMN k TYPE m.word;
COMMIT;
RESET ROLE;
SELECT pgq_sync('1 min');
SELECT handler, serialization_key, args FROM pgq_jobs ORDER BY position;
SELECT handler, event, sqlstate, error FROM pgq_event_errors ORDER BY error_id;
SELECT * FROM seen;

-- A failed event is shown in the shape that it was written in.
BEGIN;
INSERT INTO m.b VALUES ('shape', 'x', 2);
ALTER TABLE m.b ALTER COLUMN n TYPE text;
ALTER TABLE m.b DROP COLUMN k;
COMMIT;
SELECT pgq_sync('1 min');
SELECT handler, event FROM pgq_event_errors WHERE handler = 'cast' ORDER BY error_id;

-- The view of a handler belongs to its owner. When he replaces its query, the handler has lost its source.
SELECT format('CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO %s DO INSTEAD
               SELECT true AS matches, ''x''::text AS serialization_key, 0 AS priority, ''{}''::jsonb AS args',
              (SELECT rule::regclass FROM pgq_handler WHERE handler = 'constant')) AS replace_rule \gset
SET ROLE pgq_test_mallory;
:replace_rule;
INSERT INTO m.a VALUES ('replaced');
RESET ROLE;
SELECT pgq_sync('1 min');
SELECT handler, error FROM pgq_event_errors WHERE handler = 'constant';
SET ROLE pgq_test_mallory;
SELECT pgq_alter_handler('constant', serialization_key => 'k');
INSERT INTO m.a VALUES ('altered');
RESET ROLE;
SELECT pgq_sync('1 min');
SELECT handler, serialization_key FROM pgq_jobs WHERE handler = 'constant' ORDER BY position;

-- Nor does a handler show its owner rows that a policy hides from him.
CREATE TABLE rows (k text);
GRANT SELECT ON rows TO pgq_test_mallory;
SET ROLE pgq_test_mallory;
SELECT pgq_create_handler('rows', 'rows', 'k');
RESET ROLE;
INSERT INTO rows VALUES ('open');
SELECT pgq_sync('1 min');
ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
INSERT INTO rows VALUES ('hidden');
SELECT pgq_sync('1 min');
SELECT serialization_key FROM pgq_jobs WHERE handler = 'rows';
SELECT sqlstate, error FROM pgq_event_errors WHERE handler = 'rows';
SET ROLE pgq_test_mallory;
SELECT pgq_create_handler('rows too', 'rows', 'k');
RESET ROLE;

-- An advisory lock that an expression takes is not kept.
CREATE TABLE locks (k text);
SELECT pgq_create_handler('lock', 'locks', 'pg_advisory_lock(1)::text');
INSERT INTO locks VALUES ('a');
SELECT pgq_sync('1 min');
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
SET client_min_messages = warning;
DROP OWNED BY pgq_test_mallory CASCADE;
DROP ROLE pgq_test_mallory;
DROP TABLE seen, rows, locks;
