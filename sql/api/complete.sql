-- pgq_complete: reports jobs as done. They move to the archive, and the next jobs of their keys may run.
--
-- job_id, attempt  the hand-out, as pgq_dequeue returned it
-- result           anything to keep with the job; NULL: nothing
-- Returns true; false when this same hand-out has completed the job before (nothing changes).
-- Errors: PQ001 the hand-out isn't current; 22004 job_id or attempt NULL; 25006 in a read-only transaction or on a
-- standby.
-- Locks: the job's row, and that of the next job of its key, until the transaction ends. Waits for a transaction that is
-- changing the job, and for the enqueuer while it is adding a job behind it.
CREATE FUNCTION @extschema@.pgq_complete(job_id bigint, attempt int, result jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_complete';
COMMENT ON FUNCTION @extschema@.pgq_complete(bigint, int, jsonb) IS 'report a job as done';

-- The same for many: job_ids[i] under attempts[i]. Works in the order of ids, whatever the arrays' order, so that
-- batches don't deadlock. Returns the ids that were completed, once each: hand-outs that aren't current, and such as
-- have completed their job before, are left out.
-- Errors: 2202E arrays of unequal length, or of more than one dimension; 22004 a NULL array or element.
CREATE FUNCTION @extschema@.pgq_complete(job_ids bigint[], attempts int[]) RETURNS SETOF bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'pgq_ext_complete_all';
COMMENT ON FUNCTION @extschema@.pgq_complete(bigint[], int[]) IS 'report jobs as done; returns the ids that were completed';
