-- pgq_cancel: takes a job out of its queue, running or not. A worker that runs it learns by PQ001.
--
-- job_id  the job
-- Returns true: it is cancelled; or will be, in commit order, when it is still to be made from an enqueue or retry.
-- False: it is finished or unknown.
-- Errors: 22004 job_id NULL; 25006 in a read-only transaction or on a standby.
-- Locks: the job's row FOR UPDATE, and that of the next job of its key, until the transaction ends. Waits for a
-- transaction that is changing the job, and for the enqueuer while it is adding a job behind it.
CREATE FUNCTION @extschema@.pgq_cancel(job_id bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_cancel';
COMMENT ON FUNCTION @extschema@.pgq_cancel IS 'take a job out of its queue; false when it is finished';
