-- The first job of each queue has failed, and is tried again in an hour. Here that does not hold up the others of its queue.
UPDATE graphile_worker._private_jobs
   SET attempts = 1, run_at = now() + interval '1 h'
 WHERE id IN (SELECT min(id) FROM graphile_worker._private_jobs GROUP BY job_queue_id);
