-- Two queues whose names have the same hash, and so the same place in the index that dequeue reads: each has its own jobs.
CREATE EXTENSION pgq_ext;
\set one '''queue 111046'''
\set two '''queue 136752'''
SELECT hashtext(:one) = hashtext(:two) AS same_hash;
SELECT pgq_create_queue(:one, lease => '100 ms', backoff => '1 ms', max_backoff => '1 ms'), pgq_create_queue(:two);
SELECT count(pgq_enqueue('work', to_jsonb(i), queue => CASE i % 2 WHEN 1 THEN :one ELSE :two END, priority => i / 6))
  FROM generate_series(1, 12) i;
SELECT pgq_sync();

-- In each its own, in its order, though those of the other are between them; by marks, too, once some are taken.
SELECT args, priority FROM pgq_dequeue(2, :one, '1 h');
SELECT args, priority FROM pgq_dequeue(2, :two, '1 h');
SELECT args, priority FROM pgq_dequeue(2, :one, '1 h');
SELECT args, priority FROM pgq_dequeue(10, :two, '1 h');
SELECT args, priority FROM pgq_dequeue(10, :two, '1 h');
-- A lease that runs out gives its job back to its own queue.
SELECT args, priority FROM pgq_dequeue(1, :one);
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pgq_queues WHERE queue = 'queue 111046' AND ready = 2) LOOP COMMIT; END LOOP; END $$;
SELECT args FROM pgq_dequeue(10, :two);
SELECT args FROM pgq_dequeue(10, :one, '1 h') ORDER BY args;
SELECT queue, ready, running FROM pgq_queues WHERE queue <> 'default' ORDER BY queue;

SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext CASCADE;
