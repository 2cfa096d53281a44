-- Event errors are tried again after their handler was mended.
CREATE EXTENSION pgq_ext;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE ev (id int, k text, n int, m mood, a int[], d positive, b bytea);
SELECT pgq_create_handler('h', 'ev', 'k', priority => '10 / n');
INSERT INTO ev VALUES (1, 'a', 0, 'good', '{1,2}', 3, '\xff00'), (2, 'a', 5, 'bad', NULL, NULL, NULL), (3, 'c', 0, NULL, '{}', 1, '');
SELECT pgq_sync();
SELECT error_id, handler, event, sqlstate, error FROM pgq_event_errors ORDER BY 1;

-- Not mended yet: the error stays.
SELECT pgq_retry_event(1);
SELECT pgq_sync();
SELECT error_id, sqlstate, error FROM pgq_event_errors ORDER BY 1;

-- Another error takes the place of the first.
SELECT pgq_alter_handler('h', priority => '(k || ''x'')::int');
SELECT pgq_retry_event(1);
SELECT pgq_sync();
SELECT error_id, sqlstate, error FROM pgq_event_errors ORDER BY 1;

-- Mended: the event is a job now, with all its values, at the end of its key. What is filtered out gives none.
SELECT pgq_alter_handler('h', priority => 'n', filter => 'k <> ''c''');
SELECT pgq_retry_event(error_id) FROM pgq_event_errors ORDER BY error_id;
SELECT pgq_retry_event(1); -- asked twice
SELECT pgq_sync();
SELECT error_id, sqlstate, error FROM pgq_event_errors ORDER BY 1;
SELECT serialization_key, priority, args FROM pgq_jobs ORDER BY position;

-- What can't be tried again, and what is refused.
SELECT pgq_retry_event(1);
SELECT pgq_retry_event(NULL);
BEGIN READ ONLY;
SELECT pgq_retry_event(1);
ROLLBACK;
SELECT pgq_alter_handler('h', priority => '1 / n', filter => '');
INSERT INTO ev (id, n) VALUES (4, 0);
SELECT pgq_sync();
SELECT pgq_drop_handler('h');
SELECT pgq_retry_event(error_id) FROM pgq_event_errors;
SELECT pgq_sync();
SELECT handler, sqlstate FROM pgq_event_errors; -- no handler of that name: it stays as it was
SELECT * FROM pgq_check();
DROP TABLE ev;
DROP TYPE mood;
DROP DOMAIN positive;
DROP EXTENSION pgq_ext;
