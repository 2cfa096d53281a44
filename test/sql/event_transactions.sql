-- Which rows are events: what a transaction committed by INSERT, in whatever way, and nothing else.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE TABLE app.ev (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k text UNIQUE, n int DEFAULT 0);
CREATE TABLE app.other (k text);
SELECT pgq_create_handler('h', 'app.ev', 'k', priority => 'n');
SELECT pgq_create_handler('o', 'app.other', 'k');
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority AS n FROM pgq_jobs ORDER BY position;

-- Savepoints: what was rolled back gives nothing, and order is the order of insertion.
BEGIN;
SAVEPOINT a; INSERT INTO app.ev (k) VALUES ('1 keep'); RELEASE a;
SAVEPOINT b; INSERT INTO app.ev (k) VALUES ('2 drop'); ROLLBACK TO b;
INSERT INTO app.other (k) VALUES ('3 keep');
SAVEPOINT c; SAVEPOINT d; INSERT INTO app.ev (k) VALUES ('4 drop'); RELEASE d; ROLLBACK TO c;
SAVEPOINT e; SAVEPOINT f; INSERT INTO app.ev (k) VALUES ('5 keep'); RELEASE f; RELEASE e;
INSERT INTO app.ev (k) VALUES ('6 keep');
COMMIT;
BEGIN; INSERT INTO app.ev (k) VALUES ('7 drop'); ROLLBACK;
SELECT pgq_sync();
SELECT handler, key FROM app.jobs;
-- More subtransactions than fit into memory, half of them failing.
DO $$ BEGIN
    FOR i IN 1..2000 LOOP
        BEGIN
            INSERT INTO app.ev (k, n) VALUES ('sub' || i, i);
            IF i % 2 = 0 THEN RAISE EXCEPTION 'no'; END IF;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
    END LOOP;
END $$;
SELECT pgq_sync();
SELECT count(*), min(n), max(n), bool_and(n > before) AS in_order
  FROM (SELECT n, coalesce(lag(n) OVER (ORDER BY position), 0) AS before
          FROM (SELECT priority AS n, position FROM pgq_jobs WHERE serialization_key LIKE 'sub%') j) x;

-- Two-phase commit: at COMMIT PREPARED, and in its place.
BEGIN; INSERT INTO app.ev (k) VALUES ('prepared'); PREPARE TRANSACTION 'regress_pgq_1';
BEGIN; INSERT INTO app.ev (k) VALUES ('undone'); PREPARE TRANSACTION 'regress_pgq_2';
INSERT INTO app.ev (k) VALUES ('between');
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE key IN ('prepared', 'undone', 'between');
ROLLBACK PREPARED 'regress_pgq_2';
COMMIT PREPARED 'regress_pgq_1';
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE key IN ('prepared', 'undone', 'between');

-- ON CONFLICT and MERGE: what was inserted is an event, what was updated or left is none.
INSERT INTO app.ev (k) VALUES ('up1'), ('up2') ON CONFLICT (k) DO NOTHING;
INSERT INTO app.ev (k) VALUES ('up2'), ('up3') ON CONFLICT (k) DO NOTHING;
INSERT INTO app.ev (k) VALUES ('up3'), ('up4') ON CONFLICT (k) DO UPDATE SET n = 9;
MERGE INTO app.ev USING (VALUES ('up1'), ('up5')) v (k) ON ev.k = v.k
    WHEN MATCHED THEN UPDATE SET n = 8 WHEN NOT MATCHED THEN INSERT (k) VALUES (v.k);
WITH i AS (INSERT INTO app.ev (k) VALUES ('up6') RETURNING k) INSERT INTO app.other SELECT k FROM i;
SELECT pgq_sync();
SELECT handler, key, n FROM app.jobs WHERE key LIKE 'up%' ORDER BY handler, key;

-- COPY, in one record for many rows, and INSERT ... SELECT.
COPY app.ev (k, n) FROM stdin;
copy1	1
copy2	2
copy3	3
\.
INSERT INTO app.ev (k, n) SELECT 'select' || i, i FROM generate_series(1, 3) i;
SELECT pgq_sync();
SELECT key, n FROM app.jobs WHERE key ~ '^(copy|select)';

-- Rows that are gone before the stream sees them were events all the same; UPDATE and DELETE are none.
BEGIN; INSERT INTO app.ev (k) VALUES ('ghost'); UPDATE app.ev SET n = 1 WHERE k = 'ghost'; DELETE FROM app.ev WHERE k = 'ghost'; COMMIT;
INSERT INTO app.ev (k) VALUES ('later'); DELETE FROM app.ev WHERE k = 'later';
BEGIN; INSERT INTO app.other VALUES ('before truncate'); TRUNCATE app.other; INSERT INTO app.other VALUES ('after truncate'); COMMIT;
TRUNCATE app.other;
SELECT pgq_sync();
SELECT handler, key, n FROM app.jobs WHERE key ~ '^(ghost|later|before|after)';

-- Rewrites of the table are no events: neither of old rows nor of those of the same transaction.
BEGIN;
INSERT INTO app.other SELECT 'rewritten ' || i FROM generate_series(1, 3) i;
ALTER TABLE app.other ADD COLUMN r float8 DEFAULT random(), ADD COLUMN s int GENERATED ALWAYS AS IDENTITY;
INSERT INTO app.other VALUES ('rewritten 4');
COMMIT;
VACUUM FULL app.other;
CLUSTER app.ev USING ev_pkey;
VACUUM FULL pg_class;
VACUUM FULL app.ev;
CREATE TABLE app.copied AS SELECT * FROM app.other;
INSERT INTO app.other VALUES ('rewritten 5');
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE key LIKE 'rewritten%';

-- Who writes, and how, makes no difference: triggers off, an origin, asynchronous commit, another role.
SET session_replication_role = replica;
INSERT INTO app.other VALUES ('replica');
RESET session_replication_role;
SELECT pg_replication_origin_create('regress_pgq');
SELECT pg_replication_origin_session_setup('regress_pgq');
INSERT INTO app.other VALUES ('origin');
SELECT pg_replication_origin_session_reset();
SELECT pg_replication_origin_drop('regress_pgq');
SET synchronous_commit = off;
INSERT INTO app.other VALUES ('asynchronous');
RESET synchronous_commit;
CREATE ROLE regress_pgq_writer;
GRANT USAGE ON SCHEMA app TO regress_pgq_writer;
GRANT INSERT ON app.other TO regress_pgq_writer;
SET ROLE regress_pgq_writer;
INSERT INTO app.other VALUES ('writer');
RESET ROLE;
SELECT pgq_sync();
SELECT key FROM app.jobs WHERE key IN ('replica', 'origin', 'asynchronous', 'writer');

-- A trigger's insert and a cascade's are events of their own transaction, in its order.
CREATE FUNCTION app.also() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.other VALUES ('by trigger'); RETURN NULL; END $$;
CREATE TRIGGER also AFTER INSERT ON app.ev FOR EACH ROW EXECUTE FUNCTION app.also();
INSERT INTO app.ev (k) VALUES ('with trigger');
SELECT pgq_sync();
SELECT handler, key FROM app.jobs WHERE key LIKE '%trigger';

-- An event and the completion of the job before it are one commit, or none.
SELECT count(done) FROM (SELECT pgq_complete(array_agg(job_id), array_agg(attempt)) FROM pgq_dequeue(100000)) x (done);
SELECT count(*) FROM pgq_jobs WHERE status = 'pending';
INSERT INTO app.other VALUES ('first');
SELECT pgq_sync();
BEGIN;
SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue();
INSERT INTO app.other VALUES ('next');
ROLLBACK;
SELECT pgq_sync();
SELECT serialization_key, status, attempt FROM pgq_jobs WHERE serialization_key IN ('first', 'next');
BEGIN;
SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue();
INSERT INTO app.other VALUES ('next');
COMMIT;
SELECT pgq_sync();
SELECT serialization_key, status, attempt FROM pgq_jobs WHERE serialization_key IN ('first', 'next') ORDER BY position;

-- The same in subtransactions, whose first record is one of our own tables', which the stream skips.
INSERT INTO app.other SELECT 'work ' || i FROM generate_series(1, 2) i;
SELECT pgq_sync();
BEGIN;
SAVEPOINT a;
SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(1);
INSERT INTO app.other VALUES ('after skipped');
RELEASE a;
SAVEPOINT b;
SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(1);
INSERT INTO app.other VALUES ('undone after skipped');
ROLLBACK TO b;
COMMIT;
SELECT pgq_sync();
SELECT handler, key FROM app.jobs WHERE key LIKE '%after skipped';

-- Two handlers on one source, and each event's jobs together, in commit order.
SELECT pgq_create_handler('o2', 'app.other', 'k', 'k <> ''a''');
INSERT INTO app.other VALUES ('a'), ('b');
INSERT INTO app.other VALUES ('c');
SELECT pgq_sync();
SELECT handler, key FROM app.jobs WHERE key IN ('a', 'b', 'c');
SELECT count(*) AS errors FROM pgq_event_errors;
SELECT * FROM pgq_check();

DROP EXTENSION pgq_ext CASCADE;
DROP SCHEMA app CASCADE;
DROP ROLE regress_pgq_writer;
