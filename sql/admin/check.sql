-- pgq_check: looks for jobs that break the rules by which they are kept. Returns a row for each violation, none when all
-- is well; it reads all live jobs, in one snapshot, and can be run at any time. Locks: none that anyone waits for.
CREATE FUNCTION @extschema@.pgq_check() RETURNS TABLE (violation text, job_id bigint, detail text)
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
WITH live AS (
    SELECT j.job_id, j.handler, j.serialization_key, j.position, j.state, j.key_hash, j.state <> 'w' AND j.verified AS head
      FROM @extschema@.pgq_job j WHERE j.serialization_key IS NOT NULL AND j.state <> 's'
), keyed AS (
    SELECT l.*, min(l.position) OVER k AS first, count(*) FILTER (WHERE l.head) OVER k AS heads,
           bool_or(l.state <> 'w') OVER k AS has_head, min(l.key_hash) OVER k <> max(l.key_hash) OVER k AS hashes_differ
      FROM live l WINDOW k AS (PARTITION BY l.handler, l.serialization_key)
)
SELECT v.violation, k.job_id, format('handler %s, key %s', k.handler, left(k.serialization_key, 100))
  FROM keyed k
 CROSS JOIN LATERAL unnest(array_remove(ARRAY[
           CASE WHEN NOT k.has_head AND k.position = k.first THEN 'waits, and its key has no head' END,
           CASE WHEN k.heads > 1 AND k.head THEN 'one of several heads of its key' END,
           CASE WHEN k.head AND k.position <> k.first THEN 'head, but not the first of its key' END,
           CASE WHEN k.state = 'w' AND k.position = k.first AND k.has_head THEN 'first of its key, but waits' END,
           CASE WHEN k.hashes_differ THEN 'hash differs within its key' END], NULL)) AS v (violation)
UNION ALL
SELECT v.violation, j.job_id, format('state %s, attempt %s, failures %s', j.state, j.attempt, j.failures)
  FROM @extschema@.pgq_job j
 CROSS JOIN LATERAL unnest(array_remove(ARRAY[
           CASE WHEN (j.serialization_key IS NULL) <> (j.key_hash IS NULL) THEN 'key without hash, or hash without key' END,
           CASE WHEN (j.position IS NULL) <> (j.state = 's') THEN 'scheduled with a position, or live without' END,
           CASE WHEN j.state = 'l' AND NOT j.held THEN 'leased, but not held' END,
           CASE WHEN j.state IN ('s', 'w', 'd') AND j.held THEN 'held, but not handed out' END,
           CASE WHEN NOT j.verified AND j.state <> 'r' THEN 'unverified, but not ready' END,
           CASE WHEN j.state = 'w' AND j.key_hash IS NULL THEN 'waits, but has no key' END,
           CASE WHEN j.failures > j.attempt THEN 'more failures than attempts' END], NULL)) AS v (violation)
UNION ALL
SELECT 'live and finished', j.job_id, NULL
  FROM @extschema@.pgq_job j JOIN @extschema@.pgq_archive a ON a.job_id = j.job_id
UNION ALL
SELECT 'live and still to be enqueued', j.job_id, NULL
  FROM @extschema@.pgq_job j JOIN @extschema@.pgq_request r ON r.job_id = j.job_id AND r.kind = 'e'
UNION ALL
SELECT 'finished more than once', a.job_id, NULL
  FROM @extschema@.pgq_archive a GROUP BY a.job_id HAVING count(*) > 1;
END;
COMMENT ON FUNCTION @extschema@.pgq_check IS 'list jobs that break the queue''s own rules; none when all is well';
