-- The second half of an UPDATE that moves a row to another partition may be missing: a trigger has suppressed it. Then the
-- next insert into the table is an event all the same, where it can't be the row that has moved.
CREATE EXTENSION pgq_ext;
CREATE TABLE parts (k text, part int) PARTITION BY LIST (part);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER suppress BEFORE INSERT ON part_2 FOR EACH ROW WHEN (new.k = 'suppressed') EXECUTE FUNCTION suppress();
SELECT pgq_create_handler('parts', 'parts', 'k');
SELECT pgq_sync('1 min'); -- so that all is decoded
BEGIN;
INSERT INTO parts VALUES ('suppressed', 1), ('moved', 1);
UPDATE parts SET part = 2 WHERE k = 'suppressed';
INSERT INTO parts VALUES ('into the partition that was left', 1);
UPDATE parts SET part = 2 WHERE k = 'suppressed';
UPDATE parts SET part = 2 WHERE k = 'moved';
COMMIT;
SELECT pgq_sync('1 min');
SELECT serialization_key FROM pgq_jobs ORDER BY position;
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP TABLE parts;
DROP FUNCTION suppress;
