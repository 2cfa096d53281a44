-- Tells the launcher that this database has the extension, once CREATE EXTENSION has committed, and warns when no
-- enqueuer can run.

CREATE FUNCTION @extschema@.pgq_announce() RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_announce';
COMMENT ON FUNCTION @extschema@.pgq_announce() IS 'has the launcher start this database''s enqueuer after commit';

SELECT @extschema@.pgq_announce();
