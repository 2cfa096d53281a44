-- For batches of 50. The window is twice the batch: a narrower one has nothing in reserve for jobs that are blocked, a wider
-- one locks more rows in vain and is slower. The limits are no parameters, which would be planned anew in each call.
WITH oldest AS (
    SELECT job_id, handler, serialization_key, priority
      FROM job
     WHERE queue = 'default' AND status = 'pending' AND visible_at <= now()
     ORDER BY priority, job_id
     LIMIT 100
       FOR UPDATE SKIP LOCKED),
first AS (
    SELECT DISTINCT ON (handler, coalesce(serialization_key, job_id::text)) *
      FROM oldest
     ORDER BY handler, coalesce(serialization_key, job_id::text), job_id),
free AS (
    SELECT job_id
      FROM first
     WHERE NOT EXISTS (SELECT FROM job other
                        WHERE other.handler = first.handler AND other.serialization_key = first.serialization_key
                          AND other.status IN ('in_progress', 'retry'))
       AND NOT EXISTS (SELECT FROM job earlier
                        WHERE earlier.handler = first.handler AND earlier.serialization_key = first.serialization_key
                          AND earlier.job_id < first.job_id)
     ORDER BY priority, job_id
     LIMIT 50)
UPDATE job
   SET status = 'in_progress', attempt = attempt + 1, visible_at = now() + interval '30 s', worker = NULL
  FROM free
 WHERE job.job_id = free.job_id
RETURNING job.job_id, attempt, handler, serialization_key, priority, args, visible_at, created_at
