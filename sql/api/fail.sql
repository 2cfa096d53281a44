-- pgq_fail: reports that a job's run has failed.
--
-- job_id, attempt  the hand-out, as pgq_dequeue returned it
-- error            why; kept up to 8192 bytes, cut at a character boundary
-- retry_in         when it is to run again, a positive interval; NULL: the queue's backoff, doubled with each failure
--                  up to max_backoff, of which a random half to whole is taken
-- Returns true: it will run again. False: it has failed max_attempts times (expired leases counted) and is a dead letter.
-- While it waits, the later jobs of its key wait, too.
-- Errors: PQ001 the hand-out isn't current; 22004 job_id, attempt or error NULL; 22023 retry_in not positive or too long;
-- 25006 in a read-only transaction or on a standby.
-- Locks: as pgq_complete.
CREATE FUNCTION @extschema@.pgq_fail(job_id bigint, attempt int, error text, retry_in interval DEFAULT NULL)
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_fail';
COMMENT ON FUNCTION @extschema@.pgq_fail IS 'report that a job has failed; true when it will run again';
