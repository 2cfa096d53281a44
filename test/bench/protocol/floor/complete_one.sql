WITH gone AS (DELETE FROM floor.pgq_job WHERE job_id = {id}::bigint RETURNING *)
INSERT INTO floor.pgq_archive (job_id, position, visible_at, created_at, finished_at, priority, attempt, failures, status, queue,
                               handler, serialization_key, worker, last_error, args)
SELECT job_id, position, lease_until, created_at, now(), priority, attempt, failures, 'c', queue,
       handler, serialization_key, worker, last_error, args
  FROM gone
