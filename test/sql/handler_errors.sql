-- What create, alter and drop refuse, with the message and the SQLSTATE; and that nothing has changed then.
\pset null '(null)'
\set sqlstate '\\echo SQLSTATE :LAST_ERROR_SQLSTATE'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE TABLE app.ev (id int, k text, ok boolean);
SELECT pgq_create_handler('h', 'app.ev', 'k');
\set create 'SELECT pgq_create_handler(''new'', ''app.ev'', '

-- NULLs.
SELECT pgq_create_handler(NULL, 'app.ev');
:sqlstate
SELECT pgq_create_handler('new', NULL);
:sqlstate
SELECT pgq_create_handler('new', 'app.ev', queue => NULL);
:sqlstate
SELECT pgq_alter_handler(NULL);
:sqlstate
SELECT pgq_drop_handler(NULL);
:sqlstate
-- Names.
SELECT pgq_create_handler('', 'app.ev');
:sqlstate
SELECT pgq_create_handler(repeat('h', 256), 'app.ev');
:sqlstate
SELECT pgq_create_handler(repeat('é', 128), 'app.ev');
:sqlstate
SELECT pgq_create_handler('h', 'app.ev');
:sqlstate
SELECT pgq_alter_handler('H');
:sqlstate
SELECT pgq_drop_handler('');
:sqlstate
-- Queues.
SELECT pgq_create_handler('new', 'app.ev', queue => 'nowhere');
:sqlstate
SELECT pgq_alter_handler('h', queue => 'nowhere');
:sqlstate
SELECT pgq_alter_handler('h', queue => '');
:sqlstate
SELECT pgq_create_queue('used');
SELECT pgq_alter_handler('h', queue => 'used');
SELECT pgq_drop_queue('used');
:sqlstate

-- Faults in an expression, with their position in it.
:create 'k +');
:sqlstate
:create E'k ||\n  nope');
:sqlstate
:create filter => 'id = ''x''');
:sqlstate
:create priority => 'nofunction(id)');
:sqlstate
:create args => 'k ->> 1');
:sqlstate
:create args => '''{''');
:sqlstate
:create priority => '''x''');
:sqlstate
:create 'other.k');
:sqlstate
:create '$1');
:sqlstate
:create args => 'ok');
:sqlstate
-- A filter is boolean by itself.
:create filter => 'id');
:sqlstate
:create filter => 'NULL');
:sqlstate
-- One expression, and nothing smuggled in with it.
:create ' ');
:sqlstate
:create '--');
:create '*');
:create filter => '*');
:create 'k, k');
:create 'k AS alias');
:create 'k alias');
:create 'DISTINCT k');
:create 'k FROM app.ev');
:create 'k WHERE false');
:create 'k GROUP BY k');
:create 'k ORDER BY k');
:create 'k LIMIT 1');
:create 'k OFFSET 1');
:create 'k FOR UPDATE');
:sqlstate
:create 'k INTO x');
:create 'k UNION SELECT k');
:create 'k; DROP TABLE app.ev');
:create 'k) FROM app.ev; --');
:create 'x := k');
:create 'SELECT k');
:sqlstate
-- One row is all it sees.
:create '(SELECT k)');
:sqlstate
:create filter => 'EXISTS (SELECT)');
:create filter => 'id IN (SELECT 1)');
:create args => 'ARRAY(SELECT 1)::text');
:create 'max(k)');
:sqlstate
:create 'rank() OVER ()');
:sqlstate
:create 'unnest(ARRAY[k])');
:sqlstate
:create 'tableoid::regclass');
:sqlstate
:create '(ev).ctid');
:sqlstate
-- Altering is checked in the same way.
SELECT pgq_alter_handler('h', filter => 'k', priority => 'id');
:sqlstate
SELECT pgq_alter_handler('h', args => 'id, k');
:sqlstate
CREATE TABLE app.without (id int);
SELECT pgq_alter_handler('h', 'app.without');
:sqlstate

-- Sources are permanent tables.
CREATE VIEW app.v AS SELECT * FROM app.ev;
CREATE MATERIALIZED VIEW app.mv AS SELECT * FROM app.ev;
CREATE TEMP TABLE tmp (k text);
CREATE UNLOGGED TABLE app.unlogged (k text);
CREATE INDEX ev_k ON app.ev (k);
CREATE SEQUENCE app.seq;
CREATE TYPE app.pair AS (a int, b int);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE app.foreign_table (k text) SERVER nowhere;
SELECT pgq_create_handler('new', 'app.v');
:sqlstate
\set VERBOSITY terse
SELECT pgq_create_handler('new', 'app.mv');
:sqlstate
SELECT pgq_create_handler('new', 'tmp');
:sqlstate
SELECT pgq_create_handler('new', 'app.unlogged');
:sqlstate
SELECT pgq_create_handler('new', 'app.ev_k');
:sqlstate
SELECT pgq_create_handler('new', 'app.seq');
:sqlstate
SELECT pgq_create_handler('new', 'app.pair');
:sqlstate
SELECT pgq_create_handler('new', 'app.foreign_table');
:sqlstate
SELECT pgq_create_handler('new', 'pg_class');
:sqlstate
\set VERBOSITY sqlstate
SELECT pgq_create_handler('new', reltoastrelid::regclass) FROM pg_class WHERE oid = 'app.ev'::regclass;
\set VERBOSITY terse
SELECT pgq_create_handler('new', 'pgq_job');
:sqlstate
SELECT pgq_create_handler('new', 'pgq_request');
:sqlstate
SELECT pgq_create_handler('new', 'pgq_handlers');
:sqlstate
SELECT pgq_create_handler('new', 'app.absent');
:sqlstate
SELECT pgq_create_handler('new', 4000000000);
:sqlstate
SELECT pgq_alter_handler('h', 'app.v');
:sqlstate
\set VERBOSITY default

-- Rights: SELECT on the source to create; ownership to alter and drop.
CREATE ROLE regress_pgq_owner;
CREATE ROLE regress_pgq_other;
GRANT USAGE ON SCHEMA app TO regress_pgq_owner, regress_pgq_other;
CREATE TABLE app.secret (k text);
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('new', 'app.ev');
:sqlstate
RESET ROLE;
GRANT EXECUTE ON FUNCTION pgq_create_handler, pgq_alter_handler, pgq_drop_handler TO regress_pgq_owner, regress_pgq_other;
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('new', 'app.ev');
:sqlstate
RESET ROLE;
GRANT SELECT (id) ON app.ev TO regress_pgq_owner;
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('new', 'app.ev', 'id');
:sqlstate
RESET ROLE;
GRANT SELECT ON app.ev TO regress_pgq_owner, regress_pgq_other;
SET ROLE regress_pgq_owner;
SELECT pgq_create_handler('mine', 'app.ev', 'k');
SELECT pgq_alter_handler('mine', 'app.secret');
:sqlstate
SELECT pgq_alter_handler('h', priority => '1');
:sqlstate
SELECT pgq_drop_handler('h');
:sqlstate
SET ROLE regress_pgq_other;
SELECT pgq_alter_handler('mine', priority => '1');
:sqlstate
SELECT pgq_drop_handler('mine');
:sqlstate
SELECT pgq_create_handler('mine', 'app.ev');
:sqlstate
SELECT * FROM pgq_handlers;
:sqlstate
RESET ROLE;
-- A superuser may alter it, and it stays its owner's. So may a member of the owner.
SELECT pgq_alter_handler('mine', priority => '1');
GRANT regress_pgq_owner TO regress_pgq_other;
SET ROLE regress_pgq_other;
SELECT pgq_alter_handler('mine', args => 'to_jsonb(k)');
RESET ROLE;
SELECT handler, replace(owner::text, session_user, 'postgres') AS owner, serialization_key, priority, args
FROM pgq_handlers ORDER BY handler;
-- The owner cannot go while his handler is there.
DROP ROLE regress_pgq_owner;
:sqlstate

-- Read-only transactions.
BEGIN READ ONLY;
SELECT pgq_create_handler('new', 'app.ev');
:sqlstate
ROLLBACK;
BEGIN READ ONLY;
SELECT pgq_alter_handler('h');
:sqlstate
ROLLBACK;
BEGIN READ ONLY;
SELECT pgq_drop_handler('h');
:sqlstate
ROLLBACK;

-- After all this the table is there, nothing has been defined, and nothing has been left behind.
INSERT INTO app.ev VALUES (1, 'still', true);
SELECT pgq_sync();
SELECT handler, serialization_key AS key FROM pgq_jobs ORDER BY 1, 2;
SELECT handler, queue FROM pgq_handlers ORDER BY 1;
SELECT count(*) FROM pgq_handler;
SELECT count(*) FROM pg_class WHERE relname ~ '^pgq_handler_[0-9]+$';

SELECT pgq_drop_handler('mine');
DROP SCHEMA app CASCADE;
DROP SERVER nowhere CASCADE;
DROP FOREIGN DATA WRAPPER nothing;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
DROP ROLE regress_pgq_owner, regress_pgq_other;
