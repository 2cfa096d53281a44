-- Puts the first job of each key into retry-wait, for an hour.
UPDATE job SET status = 'retry', visible_at = now() + interval '1 h', attempt = 1
 WHERE job_id IN (SELECT min(job_id) FROM job GROUP BY serialization_key);
ANALYZE job;
