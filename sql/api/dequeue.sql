-- pgq_dequeue: hands out jobs of a queue to the caller.
--
-- batch_size  at most so many jobs, any positive int
-- queue       which queue
-- lease       for how long the jobs are the caller's, a positive interval; NULL: the queue's lease
-- worker      any name for the caller, kept with the jobs and shown by pgq_jobs; NULL: none
--
-- Returns the most urgent jobs (smallest priority, then commit order) that may run: the head of each serialization key,
-- and jobs without one. None when there are none; it doesn't wait for jobs.
-- Errors: 22004 batch_size or queue NULL; 22023 batch_size or lease not positive, or lease too long; 42704 unknown queue;
-- 25006 in a read-only transaction or on a standby.
-- Locks: the rows of the jobs it returns, FOR NO KEY UPDATE, until the transaction ends. Never waits for a row.
CREATE FUNCTION @extschema@.pgq_dequeue(batch_size int DEFAULT 1, queue text DEFAULT 'default',
                                        lease interval DEFAULT NULL, worker text DEFAULT NULL)
RETURNS TABLE (job_id bigint, attempt int, handler text, serialization_key text, priority int, args jsonb,
               lease_until timestamptz, created_at timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'pgq_ext_dequeue';
COMMENT ON FUNCTION @extschema@.pgq_dequeue IS 'hand out jobs of a queue to the caller, under a lease';
