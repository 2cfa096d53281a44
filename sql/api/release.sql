-- pgq_release: gives a job back without a verdict; it doesn't count against max_attempts.
--
-- job_id, attempt  the hand-out, as pgq_dequeue returned it
-- run_in           when it may be handed out again, a positive interval; NULL: at once
-- Errors: PQ001 the hand-out isn't current; 22004 job_id or attempt NULL; 22023 run_in not positive or too long;
-- 25006 in a read-only transaction or on a standby.
-- Locks: the job's row, until the transaction ends. Waits for a transaction that is changing it.
CREATE FUNCTION @extschema@.pgq_release(job_id bigint, attempt int, run_in interval DEFAULT NULL) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_release';
COMMENT ON FUNCTION @extschema@.pgq_release IS 'give a job back, to be handed out again';
