-- Handlers as their owner sees them: what create, alter and drop do with each argument, and what names in their
-- expressions mean, then and later. The errors are in handler_errors.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE TABLE app.ev (id bigint GENERATED ALWAYS AS IDENTITY, k text, p int DEFAULT 0, body jsonb);
CREATE VIEW app.jobs AS
    SELECT handler, queue, serialization_key AS key, priority, args FROM pgq_jobs ORDER BY position;
CREATE VIEW app.defined AS
    SELECT handler, source, queue, serialization_key AS key, filter, priority, args, owner = current_user::regrole AS mine,
           created_at BETWEEN now() - interval '1 hour' AND clock_timestamp() AS now, orphaned
      FROM pgq_handlers ORDER BY handler COLLATE "C";

\d pgq_handlers
\d pgq_event_errors
\df pgq_*handler

-- Only the name and the source are needed: the whole row is the job's args, without a key, at priority 0.
SELECT pgq_create_handler('bare', 'app.ev');
-- All of them, in order, and by name.
SELECT pgq_create_queue('other');
SELECT pgq_create_handler('full', 'app.ev', 'upper(k)', 'p >= 0', 'p + 1', 'jsonb_build_object(''id'', id, ''row'', ev)', 'other');
SELECT pgq_create_handler(handler => 'named', source => 'app.ev', queue => 'other', args => 'body', priority => '-p',
                          filter => 'k <> ''b''', serialization_key => 'k || p');
-- NULL and '' both mean: no expression.
SELECT pgq_create_handler('nulls', 'app.ev', NULL, NULL, NULL, NULL);
SELECT pgq_create_handler('blank', 'app.ev', '', '', '', '');
SELECT * FROM app.defined;
INSERT INTO app.ev (k, p, body) VALUES ('a', 1, '[1]'), ('b', -2, NULL), (NULL, 3, '{}');
SELECT pgq_sync();
SELECT * FROM app.jobs;
-- A handler may only use what it captures: each expression is cast to its type, explicitly.
SELECT pgq_create_handler('casts', 'app.ev', 'p', 'p IS NOT NULL', 'k', 'k');
INSERT INTO app.ev (k, p) VALUES ('7', 8), (NULL, NULL);
SELECT pgq_sync();
SELECT * FROM app.jobs WHERE handler = 'casts';
SELECT pgq_drop_handler(handler) FROM pgq_handlers;
SELECT count(*) FROM pgq_handlers;

-- Altering: NULL leaves as it is, '' removes, everything else replaces.
SELECT pgq_create_handler('h', 'app.ev', 'k', 'p > 0', 'p', 'body', 'other');
SELECT pgq_alter_handler('h');
SELECT * FROM app.defined;
SELECT pgq_alter_handler('h', filter => '', priority => '', args => '');
SELECT * FROM app.defined;
SELECT pgq_alter_handler('h', serialization_key => 'lower(k)', queue => 'default');
SELECT * FROM app.defined;
SELECT pgq_alter_handler('h', serialization_key => '', filter => 'p > 5', args => 'to_jsonb(k)');
SELECT * FROM app.defined;
INSERT INTO app.ev (k, p) VALUES ('no', 5), ('yes', 6);
SELECT pgq_sync();
SELECT * FROM app.jobs WHERE handler = 'h';
-- Another source: the expressions are bound to it anew.
CREATE TABLE app.other (k int, p numeric);
SELECT pgq_alter_handler('h', 'app.other', priority => 'p');
SELECT * FROM app.defined;
INSERT INTO app.ev (k, p) VALUES ('gone', 6);
INSERT INTO app.other VALUES (77, 6.5), (78, 4.2);
SELECT pgq_sync();
SELECT * FROM app.jobs WHERE handler = 'h';
-- Altered twice, dropped and made again in one transaction: the last definition counts, for what commits later. The
-- transaction's own events are the old one's, all of them.
BEGIN;
INSERT INTO app.other VALUES (1, 100);
SELECT pgq_alter_handler('h', priority => '1');
INSERT INTO app.other VALUES (2, 100);
SELECT pgq_alter_handler('h', priority => '2');
SELECT pgq_drop_handler('h');
SELECT pgq_create_handler('h', 'app.other', 'k', priority => '3');
INSERT INTO app.other VALUES (3, 100);
COMMIT;
INSERT INTO app.other VALUES (4, 100);
SELECT pgq_sync();
SELECT * FROM app.jobs WHERE handler = 'h' AND (priority = 100 OR args ->> 'p' = '100');
-- A rolled-back definition never was.
BEGIN;
SELECT pgq_drop_handler('h');
ROLLBACK;
BEGIN;
SELECT pgq_create_handler('never', 'app.other');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT pgq_alter_handler('h', priority => '99');
ROLLBACK TO s;
COMMIT;
INSERT INTO app.other VALUES (5, 100);
SELECT pgq_sync();
SELECT handler, key, priority FROM app.jobs WHERE key = '5';
-- Jobs of a dropped handler stay and can be worked.
SELECT pgq_drop_handler('h');
INSERT INTO app.other VALUES (6, 100);
SELECT pgq_sync();
SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(1000) WHERE serialization_key = '5';
SELECT handler, serialization_key AS key, status FROM pgq_jobs WHERE serialization_key IN ('5', '6');
-- What the stream has passed is gone from the table too.
SELECT count(*) FROM pgq_handler;
SELECT count(*) FROM pgq_active_handler;

-- An extension that is dropped and created again begins anew, even at once.
BEGIN;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
CREATE EXTENSION pgq_ext;
COMMIT;
SELECT pgq_create_handler('again', 'app.other', 'k');
INSERT INTO app.other VALUES (7, 100);
SELECT pgq_sync();
SELECT job_id, handler, serialization_key AS key, position FROM pgq_jobs;

DROP SCHEMA app CASCADE;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
