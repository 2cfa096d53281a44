UPDATE floor.pgq_job
   SET attempt = attempt + 1, state = 'l', held = true, verified = true, visible_at = now() + interval '30 s', worker = NULL
 WHERE job_id BETWEEN {low}::bigint AND {high}::bigint
RETURNING job_id, attempt, handler, serialization_key, priority, args, visible_at, created_at
