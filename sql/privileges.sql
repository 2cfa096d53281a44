-- Nothing is for everybody: the extension's owner decides by GRANT who may call and read what. Default privileges that
-- somebody has set up don't count. And what pg_dump takes along.

DO $$
DECLARE
    member record;
BEGIN
    FOR member IN
        SELECT d.classid, d.objid, c.relkind FROM pg_depend d
          JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
          LEFT JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
         WHERE e.extname = 'pgq_ext' AND d.deptype = 'e'
    LOOP
        IF member.classid = 'pg_proc'::regclass THEN
            EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', member.objid::regprocedure);
        ELSIF member.relkind = 'S' THEN
            EXECUTE format('REVOKE ALL ON SEQUENCE %s FROM PUBLIC', member.objid::regclass);
        ELSIF member.relkind IN ('r', 'p', 'v') THEN
            EXECUTE format('REVOKE ALL ON TABLE %s FROM PUBLIC', member.objid::regclass);
        END IF;
    END LOOP;
END $$;

-- The queue 'default' comes with the extension; its settings, if altered, are not dumped. pgq_progress and
-- pgq_active_handler belong to one server's WAL.
SELECT pg_extension_config_dump('@extschema@.pgq_queue', $$WHERE queue <> 'default'$$);
SELECT pg_extension_config_dump('@extschema@.pgq_handler', '');
SELECT pg_extension_config_dump('@extschema@.pgq_job', '');
SELECT pg_extension_config_dump('@extschema@.pgq_archive', '');
SELECT pg_extension_config_dump('@extschema@.pgq_request', '');
SELECT pg_extension_config_dump('@extschema@.pgq_idempotency', '');
SELECT pg_extension_config_dump('@extschema@.pgq_event_error', '');
SELECT pg_extension_config_dump('@extschema@.pgq_job_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_handler_handler_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_request_request_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_event_error_error_id_seq', '');
