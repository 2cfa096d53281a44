-- Invariants of all that the extension makes: where it is, what it is called, that it is commented and dumped, and that
-- nothing of it is for everybody.
SET search_path = tap, pg_catalog;
SELECT extnamespace::regnamespace AS s FROM pg_extension WHERE extname = 'pgq_ext' \gset
SELECT plan(16);

-- Members of the extension, with the class's catalog, schema and name.
CREATE TEMP VIEW member AS
SELECT d.classid::regclass::text AS class, d.objid, pg_describe_object(d.classid, d.objid, 0) AS described,
       c.relkind, coalesce(c.relnamespace, p.pronamespace, t.typnamespace) AS schema,
       coalesce(c.relname, p.proname, t.typname)::text AS name, coalesce(c.relacl, p.proacl, t.typacl) AS acl
  FROM pg_depend d
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pgq_ext'
  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
  LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
 WHERE d.deptype = 'e';

SELECT cmp_ok(count(*), '>=', 38::bigint, 'the list of members is not empty') FROM member;
SELECT is_empty($$SELECT described FROM member WHERE class NOT IN ('pg_class', 'pg_proc') AND name <> 'pgq_limited_worker'
    OR relkind NOT IN ('r', 'v', 'S')$$, 'members are tables, views, sequences, functions, and the mark of limited workers');
SELECT is_empty($$SELECT described FROM member WHERE name NOT LIKE 'pgq\_%'$$, 'every name begins with pgq_');
SELECT is_empty($$SELECT i.indexrelid::regclass FROM member m JOIN pg_index i ON i.indrelid = m.objid
    JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname NOT LIKE 'pgq\_%'$$, 'also of indexes');
SELECT is_empty($$SELECT described FROM member WHERE schema <> (SELECT extnamespace FROM pg_extension WHERE extname = 'pgq_ext')$$,
    'everything is in the schema of the extension');
SELECT is_empty($$SELECT described FROM member WHERE relkind IS DISTINCT FROM 'S' AND obj_description(objid, class) IS NULL
    UNION ALL SELECT described FROM member WHERE name = 'pgq_job_id_seq' AND obj_description(objid, class) IS NULL$$,
    'every table, view and function, and the sequence that is not a column''s own, is commented');

-- Privileges. An object without an ACL has the default one: for a function that is EXECUTE for PUBLIC.
SELECT is_empty($$SELECT described FROM member WHERE CASE class WHEN 'pg_proc' THEN
    acl IS NULL OR has_function_privilege('public', objid, 'EXECUTE') END$$,
    'no function is executable by PUBLIC');
SELECT is_empty($$SELECT described FROM member WHERE CASE WHEN relkind IN ('r', 'v') THEN
    has_table_privilege('public', objid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') END$$,
    'PUBLIC has no privilege on a table or view');
SELECT is_empty($$SELECT described FROM member WHERE CASE relkind WHEN 'S' THEN has_sequence_privilege('public', objid, 'SELECT, USAGE, UPDATE') END$$,
    'nor on a sequence');
SELECT is_empty($$SELECT described FROM member WHERE CASE WHEN class = 'pg_type' THEN has_type_privilege('public', objid, 'USAGE') END$$,
    'nor on a type');
SELECT is_empty($$SELECT m.described, a.attname FROM member m JOIN pg_attribute a ON a.attrelid = m.objid AND a.attacl IS NOT NULL$$,
    'nor on a column');
SELECT is_empty($$SELECT m.described, x.grantee::regrole FROM member m, aclexplode(m.acl) x
    WHERE x.grantee <> (SELECT extowner FROM pg_extension WHERE extname = 'pgq_ext')$$,
    'nobody but the owner has been granted anything, whatever the default privileges are');

-- Dumps: tables that hold what users made or what they cannot make again, and not those that tell of this server's WAL.
SELECT set_eq($$SELECT c.relname::text FROM pg_extension e, unnest(e.extconfig) x JOIN pg_class c ON c.oid = x WHERE extname = 'pgq_ext'$$,
    $$SELECT name FROM member WHERE relkind IN ('r', 'S') AND name NOT IN ('pgq_progress', 'pgq_large_transaction', 'pgq_active_handler')$$,
    'pg_dump takes all tables and sequences but those that belong to one server''s WAL');
SELECT is_empty($$SELECT extcondition FROM pg_extension e, unnest(extcondition, extconfig) x (cond, tab)
    WHERE extname = 'pgq_ext' AND cond <> '' AND tab::regclass::text NOT LIKE '%pgq\_handler' AND tab::regclass::text NOT LIKE '%pgq\_queue\_worker'$$,
    'in whole, but what is retired, and what roles that are gone might work');
-- Tables that say who may do what are closed to whoever may write all tables.
SELECT set_eq($$SELECT c.relname::text FROM member m JOIN pg_class c ON c.oid = m.objid AND m.class = 'pg_class'
    WHERE c.relrowsecurity AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid)$$,
    $$VALUES ('pgq_handler'), ('pgq_queue_worker')$$, 'row security keeps others from the tables that give rights');
SELECT is_empty($$SELECT described FROM member m JOIN pg_class c ON c.oid = m.objid WHERE m.class = 'pg_class' AND c.relpersistence <> 'p'$$,
    'and nothing is unlogged or temporary');
SELECT * FROM finish();
