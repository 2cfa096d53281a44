-- pgq_retry: puts a dead letter back into its queue, at the end of its key, its failures forgotten. The enqueuer does it,
-- in commit order, once the calling transaction has committed.
--
-- job_id  the dead letter
-- Returns true; false when there is no dead letter of that id.
-- Errors: 22004 job_id NULL; 42704 the queue was dropped; 25006 in a read-only transaction or on a standby.
-- Locks: the queue's row FOR KEY SHARE, which keeps it from being dropped.
CREATE FUNCTION @extschema@.pgq_retry(job_id bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_retry';
COMMENT ON FUNCTION @extschema@.pgq_retry IS 'put a dead letter back into its queue';
