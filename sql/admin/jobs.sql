-- pgq_jobs: every job that is known: live, kept after its end, or still to be made of an enqueue request.

CREATE VIEW @extschema@.pgq_jobs AS
SELECT j.job_id, j.queue, j.handler, j.serialization_key,
       CASE WHEN j.lease_until IS NOT NULL THEN 'in_progress' ELSE 'pending' END AS status,
       j.priority, j.attempt, j.failures, q.max_attempts, coalesce(j.lease_until, j.visible_at) AS visible_at, j.created_at,
       NULL::timestamptz AS finished_at, j.args, NULL::jsonb AS result, j.last_error, j.worker, j.position
  FROM @extschema@.pgq_job j LEFT JOIN @extschema@.pgq_queue q ON q.queue = j.queue
UNION ALL
SELECT a.job_id, a.queue, a.handler, a.serialization_key,
       CASE a.status WHEN 'c' THEN 'completed' WHEN 'f' THEN 'failed' WHEN 'h' THEN 'pending' ELSE 'cancelled' END,
       a.priority, a.attempt, a.failures, q.max_attempts, a.visible_at, a.created_at,
       CASE WHEN a.status <> 'h' THEN a.finished_at END, a.args, a.result, a.last_error, a.worker, a.position
  FROM @extschema@.pgq_archive a LEFT JOIN @extschema@.pgq_queue q ON q.queue = a.queue
UNION ALL
SELECT r.job_id, r.queue, r.handler, r.serialization_key, 'pending',
       r.priority, 0, 0, q.max_attempts, coalesce(r.run_at, r.created_at), r.created_at,
       NULL, r.args, NULL, NULL, NULL, NULL
  FROM @extschema@.pgq_request r LEFT JOIN @extschema@.pgq_queue q ON q.queue = r.queue
 WHERE r.kind = 'e';

COMMENT ON VIEW @extschema@.pgq_jobs IS 'every job, live or kept';
COMMENT ON COLUMN @extschema@.pgq_jobs.status IS 'pending, in_progress, completed, failed (a dead letter), or cancelled';
COMMENT ON COLUMN @extschema@.pgq_jobs.attempt IS 'hand-outs so far; with job_id, what a worker calls with';
COMMENT ON COLUMN @extschema@.pgq_jobs.failures IS 'failed runs and expired leases since the job was made or last retried';
COMMENT ON COLUMN @extschema@.pgq_jobs.max_attempts IS 'of the queue, at present; NULL when the queue is gone';
COMMENT ON COLUMN @extschema@.pgq_jobs.visible_at IS
    'when the job could or can run; of a job in progress, when its lease ends';
COMMENT ON COLUMN @extschema@.pgq_jobs.worker IS 'who has the job, or had it last, as told to pgq_dequeue';
COMMENT ON COLUMN @extschema@.pgq_jobs.position IS 'rises in commit order over all jobs; NULL while it is not yet decided';
