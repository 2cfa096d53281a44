-- A hot key of 50,000 waiting jobs in front costs the other keys nothing: counted in buffers, not in time.
CREATE EXTENSION pgq_ext;
CREATE TABLE ev (k text);
SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k');

-- The number of buffers that one claim touches.
CREATE FUNCTION buffers_of_claim() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM pgq_dequeue(1)' INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;

-- What a claim costs with nothing in front. The first one also fills this session's caches.
INSERT INTO ev SELECT 'warm ' || i FROM generate_series(1, 3) i;
SELECT pgq_sync('1 min');
CREATE TABLE cost AS SELECT 'first' AS what, buffers_of_claim() AS buffers;
INSERT INTO cost VALUES ('alone', buffers_of_claim());

-- The hot key is in front, with its head in a worker's hands.
INSERT INTO ev SELECT 'hot' FROM generate_series(1, 50000);
INSERT INTO ev SELECT 'cold ' || i FROM generate_series(1, 100) i;
SELECT pgq_sync('1 min');
SELECT serialization_key FROM pgq_dequeue(2) ORDER BY 1;
INSERT INTO cost VALUES ('behind', buffers_of_claim());
SELECT waiting FROM pgq_queues WHERE queue = 'default';
SELECT CASE WHEN b.buffers <= a.buffers + 30 THEN 'no dearer' ELSE format('%s instead of %s', b.buffers, a.buffers) END
FROM cost a, cost b WHERE a.what = 'alone' AND b.what = 'behind';

-- Nor does a hot key whose head waits for a retry.
SELECT pgq_fail(job_id, attempt, 'boom', '1 hour') FROM pgq_jobs WHERE status = 'in_progress' AND serialization_key = 'hot';
INSERT INTO cost VALUES ('retry', buffers_of_claim());
SELECT CASE WHEN b.buffers <= a.buffers + 30 THEN 'no dearer' ELSE format('%s instead of %s', b.buffers, a.buffers) END
FROM cost a, cost b WHERE a.what = 'alone' AND b.what = 'retry';
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP TABLE ev, cost;
DROP FUNCTION buffers_of_claim;
