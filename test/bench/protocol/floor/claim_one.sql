UPDATE floor.pgq_job
   SET attempt = attempt + 1, held = true, verified = true, lease_until = now() + interval '30 s', worker = NULL
 WHERE job_id = {low}::bigint
RETURNING job_id, attempt, handler, serialization_key, priority, args, lease_until, created_at
