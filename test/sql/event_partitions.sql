-- Partitioned sources: a handler on the root has the events of all partitions, whichever they are when a row is
-- committed; one on a partition has those of that partition. And plain inheritance.
\pset null '(null)'
SET client_min_messages = warning;
CREATE EXTENSION pgq_ext;
SELECT pgq_sync();
CREATE SCHEMA app;
CREATE VIEW app.jobs AS
    SELECT handler, serialization_key AS key, priority AS n, args FROM pgq_jobs ORDER BY position;

CREATE TABLE app.ev (region text, k text, n int, big text) PARTITION BY LIST (region);
CREATE TABLE app.ev_a PARTITION OF app.ev FOR VALUES IN ('a');
-- Partitions with another order of columns, holes, and columns of the same name; and partitions of partitions.
CREATE TABLE app.ev_b (gone int, n int, big text, k text, gone2 text, region text);
ALTER TABLE app.ev_b DROP COLUMN gone, DROP COLUMN gone2;
ALTER TABLE app.ev ATTACH PARTITION app.ev_b FOR VALUES IN ('b');
CREATE TABLE app.ev_c PARTITION OF app.ev FOR VALUES IN ('c') PARTITION BY RANGE (n);
CREATE TABLE app.ev_c1 PARTITION OF app.ev_c FOR VALUES FROM (0) TO (10);
SELECT pgq_create_handler('root', 'app.ev', 'k', 'n < 100', 'n', 'to_jsonb(ev)');
SELECT pgq_create_handler('leaf', 'app.ev_b', 'k || n');
SELECT pgq_create_handler('middle', 'app.ev_c', 'region');
INSERT INTO app.ev VALUES ('a', 'ka', 1, 'x'), ('b', 'kb', 2, repeat('x', 5)), ('c', 'kc', 3, NULL), ('b', 'no', 100, 'x');
INSERT INTO app.ev_b (region, k, n) VALUES ('b', 'direct', 4);
INSERT INTO app.ev_c1 VALUES ('c', 'direct', 5);
SELECT pgq_sync();
SELECT * FROM app.jobs;

-- Partitions come and go; what counts is what they were when the row was written.
CREATE TABLE app.ev_d PARTITION OF app.ev FOR VALUES IN ('d');
INSERT INTO app.ev VALUES ('d', 'made later', 6);
CREATE TABLE app.ev_e (LIKE app.ev);
INSERT INTO app.ev_e VALUES ('e', 'before attach', 7);
ALTER TABLE app.ev ATTACH PARTITION app.ev_e FOR VALUES IN ('e');
INSERT INTO app.ev VALUES ('e', 'after attach', 8);
BEGIN;
INSERT INTO app.ev_d VALUES ('d', 'before detach', 9);
ALTER TABLE app.ev DETACH PARTITION app.ev_d;
INSERT INTO app.ev_d VALUES ('d', 'after detach', 10);
COMMIT;
INSERT INTO app.ev_d VALUES ('d', 'after detach', 11);
BEGIN;
INSERT INTO app.ev VALUES ('e', 'before drop', 12);
DROP TABLE app.ev_e;
COMMIT;
SELECT pgq_sync();
SELECT handler, key, n FROM app.jobs WHERE n BETWEEN 6 AND 12;

-- An UPDATE that moves a row to another partition is no event, neither of the root nor of the partition it moves to.
-- A real insert right behind it is one, in the same and in another partition.
INSERT INTO app.ev VALUES ('a', 'moving', 20, repeat('big', 100000));
BEGIN;
UPDATE app.ev SET region = 'b', n = 21 WHERE k = 'moving';
INSERT INTO app.ev VALUES ('b', 'real', 22);
UPDATE app.ev SET region = 'c', n = 3 WHERE k = 'moving';
INSERT INTO app.ev VALUES ('a', 'real', 23);
COMMIT;
BEGIN;
SAVEPOINT s;
UPDATE app.ev SET region = 'a', n = 24 WHERE k = 'moving';
ROLLBACK TO s;
INSERT INTO app.ev VALUES ('a', 'real', 25);
UPDATE app.ev SET region = 'b' WHERE k = 'ka';
INSERT INTO app.ev VALUES ('b', 'real', 26);
COMMIT;
UPDATE app.ev SET region = CASE region WHEN 'a' THEN 'b' ELSE 'a' END WHERE k = 'real';
DELETE FROM app.ev WHERE k = 'moving';
INSERT INTO app.ev VALUES ('c', 'real', 7);
MERGE INTO app.ev USING (VALUES ('kb')) v (k) ON ev.k = v.k WHEN MATCHED THEN UPDATE SET region = 'a';
SELECT pgq_sync();
SELECT handler, key, n FROM app.jobs WHERE key IN ('moving', 'ka', 'kb') OR key LIKE 'real%' OR n = 3;

-- A column that is renamed is renamed in all partitions, also for rows on their way.
BEGIN;
INSERT INTO app.ev VALUES ('b', 'before rename', 30);
ALTER TABLE app.ev RENAME COLUMN k TO key;
INSERT INTO app.ev VALUES ('b', 'after rename', 31);
COMMIT;
SELECT pgq_sync();
SELECT handler, key, n FROM app.jobs WHERE key LIKE '%rename%';
-- The same when the partition has gone its own way since: it is no partition any more, its columns are named otherwise, the
-- names mean other columns, or it is gone. A column that the root has got since has its default in what is still a partition.
CREATE TABLE app.ev_f PARTITION OF app.ev FOR VALUES IN ('f');
CREATE TABLE app.ev_g (big text, n int, gone int, key text, region text);
ALTER TABLE app.ev_g DROP COLUMN gone;
ALTER TABLE app.ev ATTACH PARTITION app.ev_g FOR VALUES IN ('g');
CREATE TABLE app.ev_h PARTITION OF app.ev FOR VALUES IN ('h');
BEGIN;
INSERT INTO app.ev VALUES ('b', 'partition', 31, 'b'), ('f', 'detached', 32, 'f'), ('g', 'swapped', 33, 'g'), ('h', 'gone', 34, 'h');
ALTER TABLE app.ev DETACH PARTITION app.ev_f;
ALTER TABLE app.ev DETACH PARTITION app.ev_g;
ALTER TABLE app.ev_g RENAME COLUMN key TO x;
ALTER TABLE app.ev_g RENAME COLUMN big TO key;
ALTER TABLE app.ev_g RENAME COLUMN x TO big;
ALTER TABLE app.ev_f DROP COLUMN big;
DROP TABLE app.ev_h;
ALTER TABLE app.ev RENAME COLUMN key TO k2;
ALTER TABLE app.ev ADD COLUMN added int DEFAULT 1;
COMMIT;
SELECT pgq_sync();
SELECT handler, key, n, args FROM app.jobs WHERE key IN ('partition', 'detached', 'swapped', 'gone');
-- The root, dropped with its rows on their way: the events end as errors, one each.
BEGIN;
INSERT INTO app.ev VALUES ('a', 'orphan', 40), ('b', 'orphan', 41);
DROP TABLE app.ev CASCADE;
COMMIT;
SELECT pgq_sync();
SELECT handler, sqlstate, error FROM pgq_event_errors ORDER BY error_id;
SELECT handler, orphaned FROM pgq_handlers ORDER BY 1;
SELECT pgq_drop_handler(handler) FROM pgq_handlers;

-- Plain inheritance is no partitioning: a row is an event of the table it is written to.
CREATE TABLE app.par (k text);
CREATE TABLE app.chi (extra int) INHERITS (app.par);
SELECT pgq_create_handler('par', 'app.par', 'k');
SELECT pgq_create_handler('chi', 'app.chi', 'k || extra');
INSERT INTO app.par VALUES ('p');
INSERT INTO app.chi VALUES ('c', 1);
SELECT pgq_sync();
SELECT handler, key FROM app.jobs WHERE handler IN ('par', 'chi');
SELECT count(*) AS errors FROM pgq_event_errors WHERE handler IN ('par', 'chi');
SELECT * FROM pgq_check();

DROP EXTENSION pgq_ext CASCADE;
DROP SCHEMA app CASCADE;
