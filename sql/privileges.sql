-- Nothing is for everybody: the extension's owner decides by GRANT who may call and read what. Default privileges that
-- somebody has set up don't count, for PUBLIC as for single roles. And what pg_dump takes along.

DO $$
DECLARE
    member record;
    other record;
BEGIN
    FOR member IN
        SELECT CASE WHEN p.oid IS NOT NULL THEN 'ROUTINE ' || p.oid::regprocedure
                    WHEN t.oid IS NOT NULL THEN 'TYPE ' || t.oid::regtype
                    WHEN c.relkind = 'S' THEN 'SEQUENCE ' || c.oid::regclass
                    ELSE 'TABLE ' || c.oid::regclass END AS object,
               coalesce(p.proacl, t.typacl, c.relacl) AS acl, e.extowner
          FROM pg_depend d
          JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
          LEFT JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
          LEFT JOIN pg_type t ON t.oid = d.objid AND d.classid = 'pg_type'::regclass
          LEFT JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
         WHERE e.extname = 'pgq_ext' AND d.deptype = 'e'
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', member.object);
        FOR other IN SELECT DISTINCT x.grantee FROM aclexplode(member.acl) x WHERE x.grantee NOT IN (0, member.extowner) LOOP
            EXECUTE format('REVOKE ALL ON %s FROM %s', member.object, other.grantee::regrole);
        END LOOP;
    END LOOP;
END $$;

-- Who could write into these two could give himself or others rights: the one says as whom expressions run, the other
-- who may work what. So not even GRANT ALL ON ALL TABLES IN SCHEMA, or pg_write_all_data, opens them: without a policy,
-- row security lets nobody in but the owner.
ALTER TABLE @extschema@.pgq_handler ENABLE ROW LEVEL SECURITY;
ALTER TABLE @extschema@.pgq_queue_worker ENABLE ROW LEVEL SECURITY;

-- pgq_progress, pgq_large_transaction and pgq_active_handler belong to one server's WAL, and so do versions that are
-- retired. What happens to the others when they are restored is in admin/copies.sql.
SELECT pg_extension_config_dump('@extschema@.pgq_queue', '');
SELECT pg_extension_config_dump('@extschema@.pgq_queue_worker',
                                $$WHERE role::pg_catalog.oid IN (SELECT oid FROM pg_catalog.pg_roles)$$);
SELECT pg_extension_config_dump('@extschema@.pgq_handler', 'WHERE retired_xid IS NULL');
SELECT pg_extension_config_dump('@extschema@.pgq_job', '');
SELECT pg_extension_config_dump('@extschema@.pgq_archive', '');
SELECT pg_extension_config_dump('@extschema@.pgq_request', '');
SELECT pg_extension_config_dump('@extschema@.pgq_idempotency', '');
SELECT pg_extension_config_dump('@extschema@.pgq_event_error', '');
SELECT pg_extension_config_dump('@extschema@.pgq_job_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_position_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_handler_handler_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_request_request_id_seq', '');
SELECT pg_extension_config_dump('@extschema@.pgq_event_error_error_id_seq', '');
