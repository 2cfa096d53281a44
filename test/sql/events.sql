-- Values: what a row says is what its job says, whatever its type, its size, the shape of its table, and the settings
-- of the session that wrote it.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority, args FROM pgq_jobs ORDER BY position;

-- Not a number, infinities, and the ends of the calendar.
CREATE TABLE app.special (id int PRIMARY KEY, n numeric, f float8, t timestamptz, d date);
SELECT pgq_create_handler('special', 'app.special', 'n::text', args => 'to_jsonb(special)');
INSERT INTO app.special VALUES (1, 'NaN', 'NaN', 'infinity', 'infinity'),
    (2, 'Infinity', '-Infinity', '-infinity', '-infinity'), (3, '-Infinity', '-0', '4713-01-01 BC', '5874897-12-31');
SET TimeZone = 'UTC';
SELECT pgq_sync();
SELECT key, args, args = (SELECT to_jsonb(s) FROM app.special s WHERE s.id = (args ->> 'id')::int) AS same
  FROM app.jobs WHERE handler = 'special';
RESET TimeZone;
-- A priority that is not a number is one event's fault.
SELECT pgq_create_handler('nan', 'app.special', 'id', priority => 'f');
INSERT INTO app.special (id, f) VALUES (4, 1.4), (5, 'NaN'), (6, 1e10), (7, NULL), (8, -2.5);
SELECT pgq_sync();
SELECT key, priority FROM app.jobs WHERE handler = 'nan';
SELECT event ->> 'id' AS id, sqlstate, error FROM pgq_event_errors WHERE handler = 'nan';

-- NULL, empty, blank and "null" are five different keys, and four different bodies.
CREATE TABLE app.nulls (k text, body jsonb);
SELECT pgq_create_handler('whole', 'app.nulls', 'k');
SELECT pgq_create_handler('body', 'app.nulls', args => 'body');
INSERT INTO app.nulls VALUES (NULL, NULL), ('', 'null'), (' ', '""'), ('null', '{}'), ('NULL', '[]');
SELECT pgq_sync();
SELECT key IS NULL AS none, quote_nullable(key) AS key, args FROM app.jobs WHERE handler = 'whole';
SELECT args IS NULL AS none, args FROM app.jobs WHERE handler = 'body';
-- Each of the keys but NULL is one of its own, in the queue too.
SELECT count(*), count(serialization_key) FROM pgq_dequeue(100) WHERE handler = 'whole';

-- Generated columns are part of the row.
CREATE TABLE app.gen (id int PRIMARY KEY, a text, k text GENERATED ALWAYS AS (upper(a)) STORED,
                      n int GENERATED ALWAYS AS (length(a)) STORED);
SELECT pgq_create_handler('gen', 'app.gen', 'k', 'n > 2', 'n');
INSERT INTO app.gen (id, a) VALUES (1, 'ab'), (2, 'abc');
SELECT pgq_sync();
SELECT key, priority, args FROM app.jobs WHERE handler = 'gen';

-- Holes of dropped columns, and columns that came later, with and without a default.
CREATE TABLE app.hole (x1 int, a text, x2 text, k text, x3 jsonb, p int);
INSERT INTO app.hole VALUES (1, 'a');
ALTER TABLE app.hole DROP COLUMN x1;
SELECT pgq_create_handler('hole', 'app.hole', 'k', priority => 'p', args => 'to_jsonb(hole)');
BEGIN;
INSERT INTO app.hole (a, x2, k, p) VALUES ('A', 'x', 'before', 5);
ALTER TABLE app.hole DROP COLUMN x2, DROP COLUMN x3, ADD COLUMN late int DEFAULT 7, ADD COLUMN empty text;
COMMIT;
INSERT INTO app.hole (a, k, p, empty) VALUES ('A', 'after', 6, '');
SELECT pgq_sync();
SELECT key, priority, args FROM app.jobs WHERE handler = 'hole';

-- Types of every kind.
CREATE TYPE app.mood AS ENUM ('sad', 'ok');
CREATE TYPE app.pair AS (a int, b text);
CREATE DOMAIN app.positive AS int CHECK (VALUE > 0);
CREATE TABLE app.types (e app.mood, d app.positive, c app.pair, a int[], r int4range, b bytea, j jsonb, js json, x text[],
                        i interval, m numeric(8,3), u uuid, ip inet, bits bit(3), ch char(5), nm name, xid8 xid8,
                        cs app.pair[], doms app.positive[], ms int4multirange);
SELECT pgq_create_handler('types', 'app.types', 'types');
SELECT pgq_create_handler('parts', 'app.types', '(c).b || a[2] || upper(r) || e', '(c).a = d', 'd', 'jsonb_build_array(e, c, r, b)');
INSERT INTO app.types VALUES ('ok', 5, (5, 'q"'), '{1,NULL,3}', '[1,5)', '\xdeadbeef', 'null', '{"a" : 1, "a": 2}', '{a,"b c",NULL}',
    '1 year 2 mons 3 days 04:05:06.7', 1.5, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1/8', B'101', 'ab', 'nm', '7',
    ARRAY[(1, 'x')::app.pair, NULL], '{1,2}', '{[1,3),[5,7)}');
INSERT INTO app.types DEFAULT VALUES;
INSERT INTO app.types VALUES ('sad', 1, (1, 'w'), '{1,2}', '[1,5)', '');
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE handler = 'types';
SELECT jsonb_pretty(args) FROM app.jobs WHERE handler = 'types' LIMIT 1;
SET IntervalStyle = 'postgres';
SELECT (SELECT count(*) FROM app.types t WHERE to_jsonb(t) = args) AS rows_like_it FROM app.jobs WHERE handler = 'types';
SELECT key, priority, args FROM app.jobs WHERE handler = 'parts';

-- Big values: compressed, out of line, and both; updated and deleted before the stream sees them.
CREATE TABLE app.big (id int, plain text, packed text, body jsonb);
ALTER TABLE app.big ALTER plain SET STORAGE EXTERNAL;
SELECT pgq_create_handler('big', 'app.big', 'id', 'length(plain) > 1000000', 'length(body ->> ''s'')', 'to_jsonb(md5(plain || packed || body))');
BEGIN;
INSERT INTO app.big SELECT 1, string_agg(md5(i::text), ''), repeat('x', 3000000), jsonb_build_object('s', string_agg(md5(i::text), ''))
  FROM generate_series(1, 65536) i;
UPDATE app.big SET id = 2;
UPDATE app.big SET plain = 'changed', body = '{}';
DELETE FROM app.big;
COMMIT;
VACUUM app.big;
SELECT pgq_sync();
SELECT key, priority, args = to_jsonb(md5(s || repeat('x', 3000000) || jsonb_build_object('s', s))) AS same
  FROM app.jobs, (SELECT string_agg(md5(i::text), '') AS s FROM generate_series(1, 65536) i) AS value WHERE handler = 'big';

-- The settings of the session that writes, or that defines, change no key. Rendering is fixed: ISO, UTC, hex.
CREATE TABLE app.settings (t timestamptz, b bytea, f float8, i interval, m money, d date);
SET DateStyle = 'German'; SET bytea_output = 'escape'; SET TimeZone = 'Asia/Kolkata'; SET IntervalStyle = 'sql_standard';
SET extra_float_digits = -10; SET standard_conforming_strings = off; SET escape_string_warning = off;
SELECT pgq_create_handler('settings', 'app.settings', 't || '' '' || b::text || '' '' || f || '' '' || i || '' '' || d || E''\\\\''');
INSERT INTO app.settings VALUES ('2001-02-03 04:05:06+07', 'a', 1/3::float8, '1 day 2 hours', 1, '03.02.2001');
SET DateStyle = 'SQL, MDY'; SET TimeZone = 'America/New_York'; SET IntervalStyle = 'iso_8601'; SET extra_float_digits = 3;
SET standard_conforming_strings = on;
INSERT INTO app.settings VALUES ('2001-02-03 04:05:06+07', 'a', 1/3::float8, '1 day 2 hours', 1, '02/03/2001');
SELECT pgq_sync();
SELECT key, args FROM app.jobs WHERE handler = 'settings';
RESET ALL;
SET client_min_messages = warning;

-- Keys compare byte by byte, whatever the collation; two names or two handlers never share one.
CREATE COLLATION app.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE app.co (k text COLLATE app.ci, j text COLLATE "C");
SELECT pgq_create_queue('co');
SELECT pgq_create_handler('co', 'app.co', 'k', queue => 'co');
SELECT pgq_create_handler('co2', 'app.co', 'j', queue => 'co');
INSERT INTO app.co (k, j) VALUES ('Key', 'Key'), ('key', 'Key'), ('key ', 'Key'), ('x186049', 'x186049'), ('x88801', 'x88801');
SELECT pgq_sync();
SELECT handler, count(*) FROM pgq_dequeue(100, 'co') GROUP BY 1 ORDER BY 1;
-- What a filter compares, it compares as the column does.
SELECT pgq_create_handler('co3', 'app.co', 'j', 'k = ''KEY''');
INSERT INTO app.co (k, j) VALUES ('key', 'same'), ('keys', 'other');
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE handler = 'co3';
-- Very long keys are whole keys: these two differ in the end only.
INSERT INTO app.co (k) SELECT string_agg(md5(i::text), '') || tail FROM generate_series(1, 10000) i, (VALUES ('a'), ('b')) v (tail) GROUP BY tail;
SELECT pgq_sync();
SELECT length(key), right(key, 1) FROM app.jobs WHERE handler = 'co' AND length(key) > 1000 ORDER BY 2;

-- Columns whose types have no binary twin, a table without columns, replica identities, and RLS.
CREATE TABLE app.none ();
SELECT pgq_create_handler('none', 'app.none');
INSERT INTO app.none DEFAULT VALUES;
CREATE TABLE app.ri (k text);
ALTER TABLE app.ri REPLICA IDENTITY NOTHING;
SELECT pgq_create_handler('ri', 'app.ri', 'k');
INSERT INTO app.ri VALUES ('1'); UPDATE app.ri SET k = '2'; DELETE FROM app.ri;
ALTER TABLE app.ri REPLICA IDENTITY FULL;
INSERT INTO app.ri VALUES ('3'), ('3'); UPDATE app.ri SET k = '4'; DELETE FROM app.ri;
ALTER TABLE app.ri ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.ri FORCE ROW LEVEL SECURITY;
INSERT INTO app.ri VALUES ('5');
SELECT pgq_sync();
SELECT handler, key, args FROM app.jobs WHERE handler IN ('none', 'ri');
SELECT count(*) AS errors FROM pgq_event_errors WHERE handler <> 'nan';
SELECT * FROM pgq_check();

DROP EXTENSION pgq_ext CASCADE;
DROP SCHEMA app CASCADE;
