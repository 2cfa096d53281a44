-- Waiting for the enqueuer.

CREATE FUNCTION @extschema@.pgq_sync(timeout interval DEFAULT '10 s') RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_sync';
COMMENT ON FUNCTION @extschema@.pgq_sync(interval) IS
    'returns once every commit before the call has become jobs; the caller''s own open transaction is not among them';
