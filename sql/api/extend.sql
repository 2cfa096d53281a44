-- pgq_extend: prolongs a lease.
--
-- job_id, attempt  the hand-out, as pgq_dequeue returned it
-- lease            how long from now, a positive interval; NULL: the queue's lease
-- Returns when the lease ends: never earlier than before. A lease that has run out is one again, as long as the job has
-- neither been handed out again nor become a dead letter.
-- Errors: PQ001 the hand-out isn't current; 22004 job_id or attempt NULL; 22023 lease not positive or too long;
-- 25006 in a read-only transaction or on a standby.
-- Locks: the job's row, until the transaction ends. Waits for a transaction that is changing it.
CREATE FUNCTION @extschema@.pgq_extend(job_id bigint, attempt int, lease interval DEFAULT NULL) RETURNS timestamptz
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_extend';
COMMENT ON FUNCTION @extschema@.pgq_extend IS 'prolong the lease of a job';
