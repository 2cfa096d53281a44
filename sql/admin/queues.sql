-- pgq_queues: the queues, their settings, and what is in them.

CREATE VIEW @extschema@.pgq_queues AS
SELECT q.queue, q.max_attempts, q.lease, q.backoff, q.max_backoff,
       coalesce(live.ready, 0) AS ready, coalesce(live.waiting, 0) AS waiting, coalesce(live.delayed, 0) AS delayed,
       coalesce(live.running, 0) AS running, dead.failed,
       clock_timestamp() - live.oldest AS oldest_waiting
  FROM @extschema@.pgq_queue q
  LEFT JOIN (SELECT j.queue,
                    count(*) FILTER (WHERE j.state = 'r' AND j.lease_until IS NULL) AS ready,
                    count(*) FILTER (WHERE j.state IN ('w', 'p')) AS waiting,
                    count(*) FILTER (WHERE j.state IN ('d', 's')) AS delayed,
                    count(*) FILTER (WHERE j.lease_until IS NOT NULL) AS running,
                    min(j.visible_at) FILTER (WHERE j.state IN ('r', 'w', 'p') AND j.lease_until IS NULL) AS oldest
               FROM @extschema@.pgq_job j GROUP BY j.queue) live ON live.queue = q.queue
 CROSS JOIN LATERAL (SELECT count(*) AS failed FROM @extschema@.pgq_archive a
                      WHERE a.queue = q.queue AND a.status = 'f') dead;

COMMENT ON VIEW @extschema@.pgq_queues IS 'the queues, their settings, and what is in them';
COMMENT ON COLUMN @extschema@.pgq_queues.ready IS 'jobs that can be dequeued';
COMMENT ON COLUMN @extschema@.pgq_queues.waiting IS 'jobs behind another one of their key, or behind a large transaction that is being converted';
COMMENT ON COLUMN @extschema@.pgq_queues.delayed IS 'jobs that are not due: between attempts, or enqueued for later';
COMMENT ON COLUMN @extschema@.pgq_queues.running IS 'jobs in a worker''s hands';
COMMENT ON COLUMN @extschema@.pgq_queues.failed IS 'dead letters';
COMMENT ON COLUMN @extschema@.pgq_queues.oldest_waiting IS
    'for how long the oldest job that is ready or waiting could have run, its key permitting';
