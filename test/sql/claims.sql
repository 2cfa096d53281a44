-- What is in workers' hands, or gone, in front of a queue costs a claim nothing: counted in buffers, not in time. And any
-- number of priorities is handed out in its order.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse

-- First of all, names that are no queues': none of them takes the place of one in shared memory.
DO $$
BEGIN
    FOR i IN 1 .. 300 LOOP
        BEGIN
            PERFORM pgq_dequeue(1, 'no queue ' || i);
        EXCEPTION WHEN undefined_object THEN
        END;
    END LOOP;
END $$;
SELECT pgq_create_queue('counted');

-- The fewest buffers that one of several claims touches: now and then one begins at the start of the queue.
CREATE FUNCTION buffers_of_claim() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    fewest bigint := 1000000;
BEGIN
    FOR i IN 1 .. 5 LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM pgq_dequeue(1, ''counted'', ''1 h'')' INTO plan;
        fewest := least(fewest, (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint);
    END LOOP;
    RETURN fewest;
END $$;
SELECT count(pgq_enqueue('work', to_jsonb(i), queue => 'counted')) FROM generate_series(1, 6000) i;
SELECT pgq_sync('1 min');
CREATE TABLE cost AS SELECT 'alone' AS what, buffers_of_claim() AS buffers;
SELECT count(*) FROM pgq_dequeue(3000, 'counted', '1 h');
INSERT INTO cost VALUES ('behind 3000 leased ones', buffers_of_claim());
SELECT count(*) FROM pgq_complete(ARRAY(SELECT job_id FROM pgq_jobs WHERE status = 'in_progress'),
                                  ARRAY(SELECT attempt FROM pgq_jobs WHERE status = 'in_progress'));
INSERT INTO cost VALUES ('behind 3000 done ones', buffers_of_claim());
SELECT c.what, CASE WHEN c.buffers <= a.buffers + 20 THEN 'no dearer' ELSE format('%s instead of %s', c.buffers, a.buffers) END
  FROM cost c, cost a WHERE a.what = 'alone' ORDER BY c.what;

-- More priorities than are kept apart, in one transaction and in many; and those that come in between.
SELECT pgq_create_queue('many');
SELECT count(pgq_enqueue('work', to_jsonb(i), queue => 'many', priority => (i * 37) % 100)) FROM generate_series(0, 99) i;
SELECT pgq_sync();
CREATE TABLE taken (n serial, job_id bigint, attempt int, priority int);
CREATE FUNCTION take(n int) RETURNS bigint LANGUAGE sql AS $$
    WITH t AS (INSERT INTO taken (job_id, attempt, priority)
               SELECT job_id, attempt, priority FROM pgq_dequeue(n, 'many', '1 h') RETURNING 1) SELECT count(*) FROM t $$;
SELECT take(7), take(1), take(30), take(2);
BEGIN;
SELECT take(10);
ROLLBACK;
SELECT count(*) AS "out of order" FROM (SELECT priority < lag(priority) OVER (ORDER BY n) AS wrong FROM taken) t WHERE wrong;
SELECT max(priority) FROM taken;
SELECT pgq_enqueue('work', 'null', queue => 'many', priority => p) IS NOT NULL FROM (VALUES (5), (-3), (70), (50)) v (p);
SELECT pgq_sync();
SELECT pgq_release(job_id, attempt) FROM taken WHERE priority IN (3, 20);
TRUNCATE taken;
SELECT take(5), take(5), take(100);
SELECT array_agg(priority ORDER BY n) FROM (SELECT * FROM taken ORDER BY n LIMIT 8) t;
SELECT count(*), count(*) FILTER (WHERE wrong) AS "out of order" FROM (SELECT priority < lag(priority) OVER (ORDER BY n) AS wrong FROM taken) t;

-- What a prepared transaction gives back comes in its order, whatever its priority, and whoever has been refused in between.
SELECT pgq_create_queue('prepared');
SELECT count(pgq_enqueue('work', to_jsonb(i), queue => 'prepared', priority => i / 10)) FROM unnest(ARRAY[11, 12, 13, 51, 52, 53, 91]) i;
SELECT pgq_sync();
BEGIN;
SELECT array_agg(args) FROM pgq_dequeue(4, 'prepared');
PREPARE TRANSACTION 'claims';
SELECT args FROM pgq_dequeue(1, 'prepared');
ROLLBACK PREPARED 'claims';
CREATE ROLE regress_claims;
SELECT pgq_grant('regress_claims', 'work', 'many');
SET ROLE regress_claims;
SELECT args FROM pgq_dequeue(1, 'prepared');
RESET ROLE;
SELECT pgq_revoke('regress_claims', 'work', 'many');
DROP ROLE regress_claims;
SELECT args FROM pgq_dequeue(1, 'prepared');
SELECT array_agg(args) FROM pgq_dequeue(3, 'prepared');
SELECT array_agg(args) FROM pgq_dequeue(3, 'prepared');

-- What is known of the priorities is forgotten when there are so many at once. The enqueuer then looks where jobs are in workers'
-- hands, here at the first and the last priority: those in between are not forgotten by that.
SELECT pgq_create_queue('between');
SELECT pgq_enqueue('work', to_jsonb(i), queue => 'between', priority => 100) > 0 FROM generate_series(1, 2) i;
SELECT pgq_sync();
SELECT args FROM pgq_dequeue(1, 'between', '1 h');
SELECT count(pgq_enqueue('work', to_jsonb(i), queue => 'between', priority => i)) FROM generate_series(11, 90) i;
SELECT pgq_sync();
SELECT args FROM pgq_dequeue(1, 'between', '1 ms');
DO $$ BEGIN WHILE EXISTS (SELECT FROM pgq_jobs WHERE queue = 'between' AND priority = 11 AND status = 'in_progress') LOOP COMMIT; END LOOP; END $$;
SELECT args FROM pgq_dequeue(1, 'between', '1 h');
SELECT args FROM pgq_dequeue(1, 'between', '1 h');
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP TABLE cost, taken;
DROP FUNCTION buffers_of_claim, take;
