-- pgq_retry_event: tries an event error again, by the handler of the same name as it is by then. The enqueuer does it, in
-- commit order, once the calling transaction has committed: the event becomes a job, at the end of its key, or it is
-- filtered out, and the event error is gone; or the event error stays, with the new error.
--
-- error_id  of pgq_event_errors
-- Returns true; false when there is no such event error, or its event could not be kept (event is NULL).
-- Errors: 22004 error_id NULL; 25006 in a read-only transaction or on a standby.
-- Locks: none that anyone waits for.
CREATE FUNCTION @extschema@.pgq_retry_event(error_id bigint) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_retry_event';
COMMENT ON FUNCTION @extschema@.pgq_retry_event IS 'try an event error again, after its handler was mended';
