-- pgq_next: completes jobs and hands out the next ones, in one call and one commit.
--
-- done_ids, done_attempts  the hand-outs that are done, as pgq_complete's arrays; empty or NULL both: none
-- batch_size, queue, lease, worker  as pgq_dequeue's
--
-- Returns what pgq_dequeue returns. Hand-outs that aren't current are passed over, as by pgq_complete's arrays; who must know
-- which of them counted calls that. A key whose job is completed here may have its next job among those handed out.
-- Errors: those of pgq_complete (arrays) and pgq_dequeue; 22004 one of the arrays NULL and the other not.
-- Locks: as both.
CREATE FUNCTION @extschema@.pgq_next(done_ids bigint[], done_attempts int[], batch_size int DEFAULT 1,
                                     queue text DEFAULT 'default', lease interval DEFAULT NULL, worker text DEFAULT NULL)
RETURNS TABLE (job_id bigint, attempt int, handler text, serialization_key text, priority int, args jsonb,
               lease_until timestamptz, created_at timestamptz)
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'pgq_ext_next';
COMMENT ON FUNCTION @extschema@.pgq_next IS 'report jobs as done, and hand out the next ones under a lease';
