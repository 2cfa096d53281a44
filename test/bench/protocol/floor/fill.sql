-- n ready jobs with the keys that the expression key gives for i = 1 .. n, with ids 1 .. n.
INSERT INTO floor.pgq_job (job_id, position, key_hash, visible_at, created_at, priority, attempt, failures, state, held,
                           verified, queue, handler, serialization_key, args)
SELECT i, i, hashtextextended(k, 0), now(), clock_timestamp(), 0, 0, 0, 'r', false, true, 'default', 'ev', k,
       jsonb_build_object('id', i, 'k', k)
  FROM (SELECT i, :key AS k FROM generate_series(1, :n) i) event;
ANALYZE floor.pgq_job;
