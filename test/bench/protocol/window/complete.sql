WITH gone AS (DELETE FROM job WHERE job_id = ANY ({ids}::bigint[]) RETURNING *)
INSERT INTO archive SELECT gone.*, now() FROM gone
