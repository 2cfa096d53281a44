-- Names: of handlers, of sources and columns, and what names inside of an expression mean: bound once, with the
-- creator's search_path, and followed when they are renamed.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority, args FROM pgq_jobs ORDER BY position;

-- Quotes, blanks, dots, wildcards, backslashes and umlauts.
CREATE SCHEMA "my app.v1";
CREATE TABLE "my app.v1"."Ev""t's \ *%" ("Key Col" text, "select" int, "ünï" jsonb);
SELECT pgq_create_handler('Odd "H"', '"my app.v1"."Ev""t''s \ *%"', '"Key Col"', priority => '"select"', args => '"ünï"');
SELECT pgq_create_handler('whole', '"my app.v1"."Ev""t''s \ *%"', '("Ev""t''s \ *%")::text');
INSERT INTO "my app.v1"."Ev""t's \ *%" VALUES ('a', 4, '{"z":1}');
SELECT pgq_sync();
SELECT * FROM app.jobs;
SELECT handler, source, serialization_key FROM pgq_handlers ORDER BY 1;
SELECT pgq_drop_handler('odd "h"');
SELECT pgq_drop_handler('Odd "H"');
SELECT pgq_drop_handler('whole');
-- A column with the table's name hides the row; without args the job still gets the whole row.
CREATE TABLE app.same (same int, "order" text);
SELECT pgq_create_handler('same', 'app.same', 'same');
INSERT INTO app.same VALUES (5, 'x');
SELECT pgq_sync();
SELECT key, args FROM app.jobs WHERE handler = 'same';

-- The longest names; a handler's name may be as long as 255 bytes and is never cut.
DO $$ BEGIN
    EXECUTE format('CREATE TABLE app.%I (k text)', repeat('a', 63));
    EXECUTE format('CREATE TABLE app.%I (k text)', repeat('é', 31));
END $$;
SELECT pgq_create_handler(repeat('h', 254) || '1', ('app.' || repeat('a', 63))::regclass, 'k');
SELECT pgq_create_handler(repeat('h', 254) || '2', ('app.' || quote_ident(repeat('é', 31)))::regclass, 'k');
DO $$ BEGIN
    EXECUTE format('INSERT INTO app.%I VALUES (''long'')', repeat('a', 63));
    EXECUTE format('INSERT INTO app.%I VALUES (''multibyte'')', repeat('é', 31));
END $$;
SELECT pgq_sync();
SELECT length(handler), right(handler, 1), key FROM app.jobs WHERE handler LIKE 'hhh%';

-- One name in several schemas: the handler has the one that it was given.
CREATE TABLE app.ev (k text, n int);
CREATE SCHEMA b;
CREATE TABLE b.ev (LIKE app.ev);
CREATE TEMP TABLE ev (LIKE app.ev);
CREATE FUNCTION app.mark(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'app ' || $1 $$;
CREATE FUNCTION b.mark(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'b ' || $1 $$;
SET search_path = b, app, public;
SELECT pgq_create_handler('q', 'app.ev', 'mark(k)');
SET search_path = app, b, public;
INSERT INTO b.ev VALUES ('other'); INSERT INTO app.ev VALUES ('app'); INSERT INTO pg_temp.ev VALUES ('temp');
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE handler = 'q';
-- Nothing that is made later changes what an expression means: neither a better match, nor an earlier schema, nor the
-- path of the function itself, of the database or of the role.
CREATE FUNCTION b.upper(text) RETURNS text LANGUAGE sql AS $$ SELECT 'hijacked' $$;
CREATE FUNCTION b.wrap(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN upper($1); END $$;
SET search_path = b, pg_catalog, public;
SELECT pgq_create_handler('inner', 'app.ev', 'wrap(k)');
RESET search_path;
CREATE FUNCTION pg_temp.mark(text) RETURNS text LANGUAGE sql AS $$ SELECT 'hijacked' $$;
CREATE FUNCTION public.mark(text) RETURNS text LANGUAGE sql AS $$ SELECT 'hijacked' $$;
SELECT pgq_alter_handler('q', priority => 'n');
INSERT INTO app.ev VALUES ('later', 7);
SELECT pgq_sync();
-- (What the body of a function says is looked up when it runs, in pg_catalog only.)
SELECT handler, key, priority FROM app.jobs WHERE args ->> 'k' = 'later' ORDER BY handler;

-- Renames are followed, of all that an expression uses.
CREATE TYPE app.color AS ENUM ('red', 'blue');
CREATE TABLE app.re (k text, c app.color, n int);
CREATE FUNCTION app.half(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 / 2 $$;
SELECT pgq_create_handler('re', 'app.re', 'k || c', 'c = ''red''::app.color', 'app.half(n)', 'jsonb_build_object(''k'', re.k)');
BEGIN;
INSERT INTO app.re VALUES ('before', 'red', 10);
ALTER TABLE app.re RENAME COLUMN k TO kk;
ALTER TABLE app.re RENAME COLUMN n TO m;
ALTER TABLE app.re RENAME TO renamed;
ALTER TYPE app.color RENAME TO colour;
ALTER TYPE app.colour RENAME VALUE 'red' TO 'crimson';
ALTER FUNCTION app.half(int) RENAME TO halved;
ALTER SCHEMA app RENAME TO app2;
COMMIT;
INSERT INTO app2.renamed VALUES ('after', 'crimson', 20), ('no', 'blue', 30);
SELECT pgq_sync();
SELECT key, priority, args FROM app2.jobs WHERE handler = 're';
SELECT source, serialization_key, filter, priority FROM pgq_handlers WHERE handler = 're';
-- Altering one expression keeps the others as they were bound, whatever their text would mean now.
CREATE FUNCTION app2.half(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT -1 $$;
SELECT pgq_alter_handler('re', serialization_key => 'kk');
INSERT INTO app2.renamed VALUES ('altered', 'crimson', 40);
SELECT pgq_sync();
SELECT key, priority, args FROM app2.jobs WHERE handler = 're';
-- A swap by rename: the handler stays with the table, not with the name.
CREATE TABLE app2.swap (k text);
CREATE TABLE app2.swap_new (k text);
SELECT pgq_create_handler('swap', 'app2.swap', 'k');
BEGIN;
INSERT INTO app2.swap VALUES ('before');
ALTER TABLE app2.swap RENAME TO swap_old;
ALTER TABLE app2.swap_new RENAME TO swap;
COMMIT;
INSERT INTO app2.swap VALUES ('into new');
INSERT INTO app2.swap_old VALUES ('into old');
SELECT pgq_sync();
SELECT key FROM app2.jobs WHERE handler = 'swap';
SELECT source FROM pgq_handlers WHERE handler = 'swap';
-- A function that is replaced is what it is now, as in a view.
CREATE OR REPLACE FUNCTION app2.halved(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 1000 $$;
INSERT INTO app2.renamed VALUES ('replaced', 'crimson', 40);
SELECT pgq_sync();
SELECT key, priority FROM app2.jobs WHERE key = 'replaced';
SELECT handler, sqlstate, error FROM pgq_event_errors;

DROP SCHEMA app2, b, "my app.v1" CASCADE;
DROP FUNCTION public.mark(text);
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
