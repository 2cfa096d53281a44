-- n jobs with the keys that the expression key gives for i = 1 .. n, behind those that are there.
INSERT INTO job (serialization_key, args)
SELECT k, jsonb_build_object('id', i, 'k', k) FROM (SELECT i, :key AS k FROM generate_series(1, :n) i) event;
ANALYZE job;
