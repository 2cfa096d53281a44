-- pgq_grant and pgq_revoke: four words, work also by queue.
CREATE EXTENSION pgq_ext;
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT pgq_create_queue('a'), pgq_create_queue('b');
CREATE ROLE regress_pgq_one;
CREATE ROLE regress_pgq_two;
CREATE ROLE regress_pgq_group;
RESET client_min_messages;

CREATE FUNCTION error_in_grants(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- What the role itself has been granted on members of the extension.
CREATE FUNCTION granted(role regrole) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT concat_ws(' ', x.privilege_type, p.oid::regprocedure, t.oid::regtype, c.oid::regclass)
      FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'pgq_ext'
      LEFT JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
      LEFT JOIN pg_type t ON t.oid = d.objid AND d.classid = 'pg_type'::regclass
      LEFT JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
     CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, t.typacl, c.relacl)) x
     WHERE d.deptype = 'e' AND x.grantee = role ORDER BY 1
$$;

-- What each word gives; and that it can be given and taken twice.
SELECT pgq_grant('regress_pgq_one', 'produce'), pgq_grant('regress_pgq_one', 'produce');
SELECT * FROM granted('regress_pgq_one');
SELECT pgq_revoke('regress_pgq_one', 'produce'), pgq_revoke('regress_pgq_one', 'produce');
SELECT pgq_grant('regress_pgq_one', 'work'), pgq_grant('regress_pgq_one', 'work');
SELECT * FROM granted('regress_pgq_one');
SELECT pgq_revoke('regress_pgq_one', 'work');
SELECT pgq_grant('regress_pgq_one', 'monitor');
SELECT * FROM granted('regress_pgq_one');
SELECT pgq_revoke('regress_pgq_one', 'monitor');
SELECT pgq_grant('regress_pgq_one', 'administer');
SELECT * FROM granted('regress_pgq_one');
SELECT pgq_revoke('regress_pgq_one', 'administer');
SELECT * FROM granted('regress_pgq_one');
-- Every function and view belongs to a word, but for what only the owner needs. Whoever adds one decides.
SELECT pgq_grant('regress_pgq_one', word) FROM unnest(ARRAY['produce', 'work', 'monitor', 'administer']) word;
SELECT d.objid::regprocedure FROM pg_depend d, pg_extension e
 WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'pgq_ext' AND d.classid = 'pg_proc'::regclass
   AND NOT has_function_privilege('regress_pgq_one', d.objid, 'EXECUTE') ORDER BY d.objid::regprocedure::text;
SELECT c.oid::regclass FROM pg_depend d, pg_extension e, pg_class c
 WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'pgq_ext' AND d.classid = 'pg_class'::regclass
   AND c.oid = d.objid AND relkind = 'v' AND NOT has_table_privilege('regress_pgq_one', c.oid, 'SELECT');
SELECT pgq_revoke('regress_pgq_one', word) FROM unnest(ARRAY['produce', 'work', 'monitor', 'administer']) word;
SELECT * FROM granted('regress_pgq_one');

-- Mistakes.
SELECT error_in_grants('SELECT pgq_grant(NULL, ''work'')'), error_in_grants('SELECT pgq_grant(''regress_pgq_one'', NULL)');
SELECT error_in_grants('SELECT pgq_grant(''regress_pgq_nobody'', ''work'')'), error_in_grants('SELECT pgq_grant(''-'', ''work'')');
SELECT error_in_grants('SELECT pgq_revoke(4000000000::oid::regrole, ''work'')'), error_in_grants('SELECT pgq_grant(''regress_pgq_one'', ''work'', ''nope'')');
SELECT error_in_grants('SELECT pgq_grant(''regress_pgq_one'', ''produce'', ''a'')'), error_in_grants('SELECT pgq_revoke(''regress_pgq_one'', ''work'', ''nope'')');
SELECT error_in_grants('SELECT pgq_grant(''regress_pgq_one'', ''Work'')'), error_in_grants('SELECT pgq_revoke(''regress_pgq_one'', '''')');
\set VERBOSITY default
SELECT pgq_grant('regress_pgq_one', 'everything');
\set VERBOSITY terse
BEGIN READ ONLY;
SELECT pgq_grant('regress_pgq_one', 'work');
ROLLBACK;
-- Who does not own the extension can't grant, whatever he may call.
GRANT EXECUTE ON FUNCTION pgq_grant, pgq_revoke TO regress_pgq_one;
SET ROLE regress_pgq_one;
SELECT pgq_grant('regress_pgq_one', 'work');
SELECT pgq_revoke('regress_pgq_two', 'work');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION pgq_grant, pgq_revoke FROM regress_pgq_one;

-- Work by queue.
SELECT pgq_grant('regress_pgq_one', 'work', 'a'), pgq_grant('regress_pgq_one', 'work', 'a');
SELECT * FROM granted('regress_pgq_one');
SELECT * FROM pgq_queue_worker;
SELECT count(pgq_enqueue('h', to_jsonb(i), queue => q)) FROM generate_series(1, 6) i, unnest(ARRAY['a', 'b']) q;
SELECT pgq_sync();
CREATE TABLE held AS SELECT * FROM pgq_dequeue(2, 'b', '1 h');
GRANT ALL ON held TO PUBLIC;
SET ROLE regress_pgq_one;
SELECT count(*) FROM pgq_dequeue(1, 'b');
SELECT count(*) FROM pgq_dequeue(1);
SELECT count(*) FROM pgq_dequeue(1, 'nope');
-- Not the jobs of others, nor by guessing.
SELECT pgq_complete(job_id, attempt) FROM held;
SELECT pgq_complete(array_agg(job_id), array_agg(attempt)) FROM held;
SELECT pgq_fail(job_id, attempt, 'x') FROM held;
SELECT pgq_extend(job_id, attempt, '1 h') FROM held;
SELECT pgq_release(job_id, attempt) FROM held;
SELECT pgq_cancel(job_id) FROM held;
RESET ROLE;
-- But all that with the jobs of his queue.
CREATE TABLE mine (n serial, job_id bigint, attempt int);
GRANT ALL ON mine, mine_n_seq TO PUBLIC;
SET ROLE regress_pgq_one;
WITH d AS (SELECT * FROM pgq_dequeue(6, 'a', '1 h')) INSERT INTO mine (job_id, attempt) SELECT job_id, attempt FROM d;
SELECT count(pgq_extend(job_id, attempt)) FROM mine;
SELECT pgq_complete(job_id, attempt), pgq_complete(job_id, attempt) AS again FROM mine WHERE n = 1;
SELECT pgq_fail(job_id, attempt, 'x') FROM mine WHERE n = 2;
SELECT pgq_release(job_id, attempt) FROM mine WHERE n = 3;
SELECT count(*) FROM pgq_complete((SELECT array_agg(job_id) FROM mine WHERE n > 3), (SELECT array_agg(attempt) FROM mine WHERE n > 3));
RESET ROLE;
-- Nor can he tell what others have completed.
SELECT count(*) FROM held, pgq_complete(job_id, attempt) AS done WHERE done;
SET ROLE regress_pgq_one;
SELECT pgq_complete(job_id, attempt) FROM held;
RESET ROLE;
DROP TABLE held, mine;

-- By membership: a role has the queues of all roles whose rights it has; one of them without limits is enough for all.
SELECT pgq_grant('regress_pgq_group', 'work', 'b');
GRANT regress_pgq_group TO regress_pgq_one;
SET ROLE regress_pgq_one;
SELECT count(*) FROM pgq_dequeue(1, 'a') x, pgq_dequeue(1, 'b') y;
SELECT count(*) FROM pgq_dequeue(1);
RESET ROLE;
ALTER ROLE regress_pgq_one NOINHERIT;
SET ROLE regress_pgq_one;
SELECT count(*) FROM pgq_dequeue(1, 'b');
RESET ROLE;
ALTER ROLE regress_pgq_one INHERIT;
SELECT pgq_grant('regress_pgq_group', 'work');
SET ROLE regress_pgq_one;
SELECT count(*) FROM pgq_dequeue(1);
RESET ROLE;
SELECT pgq_revoke('regress_pgq_group', 'work');
-- EXECUTE granted by hand is for all queues, as it is to PUBLIC; a queue more does not limit it.
GRANT EXECUTE ON FUNCTION pgq_dequeue TO regress_pgq_two;
SET ROLE regress_pgq_two;
SELECT count(*) FROM pgq_dequeue(1) x, pgq_dequeue(1, 'b') y;
RESET ROLE;
SELECT pgq_grant('regress_pgq_two', 'work', 'a');
SELECT error_in_grants('SELECT pgq_revoke(''regress_pgq_two'', ''work'', ''a'')');
SELECT * FROM granted('regress_pgq_two');
SELECT pgq_revoke('regress_pgq_two', 'work');
SELECT error_in_grants('SELECT pgq_revoke(''regress_pgq_two'', ''work'', ''a'')');
-- A function that runs as somebody else has his queues.
SELECT pgq_grant('regress_pgq_two', 'work', 'b');
CREATE FUNCTION as_two(queue text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM pgq_dequeue(1, queue)';
ALTER FUNCTION as_two OWNER TO regress_pgq_two;
SET ROLE regress_pgq_one;
SELECT error_in_grants('SELECT as_two(''a'')'), error_in_grants('SELECT as_two(''b'')');
RESET ROLE;

-- The last queue takes EXECUTE along; a queue that goes takes its grants along, and nobody can do more for that.
SELECT pgq_grant('regress_pgq_one', 'work', 'b'), pgq_revoke('regress_pgq_one', 'work', 'a');
SELECT count(*) FROM granted('regress_pgq_one');
SELECT pgq_revoke('regress_pgq_one', 'work', 'b');
SELECT count(*) FROM granted('regress_pgq_one');
SELECT * FROM pgq_queue_worker;
SELECT pgq_create_queue('c'), pgq_grant('regress_pgq_one', 'work', 'c'), pgq_drop_queue('c'), pgq_create_queue('c');
SELECT * FROM pgq_queue_worker;
SET ROLE regress_pgq_one;
SELECT count(*) FROM pgq_dequeue(1, 'c');
SELECT count(*) FROM pgq_dequeue(1);
RESET ROLE;
SELECT pgq_revoke('regress_pgq_one', 'work');
-- From one queue to all.
SELECT pgq_grant('regress_pgq_two', 'work');
SELECT * FROM pgq_queue_worker;
SELECT * FROM granted('regress_pgq_two');
-- A role that is renamed keeps its queues, one that is dropped leaves nothing to the next.
SELECT pgq_grant('regress_pgq_one', 'work', 'a');
ALTER ROLE regress_pgq_one RENAME TO regress_pgq_renamed;
SELECT * FROM pgq_queue_worker;
DROP ROLE regress_pgq_renamed;
DROP OWNED BY regress_pgq_renamed;
DROP ROLE regress_pgq_renamed;
CREATE ROLE regress_pgq_renamed;
SELECT role::text ~ '^[0-9]+$' AS role_is_gone FROM pgq_queue_worker;
SELECT pgq_grant('regress_pgq_renamed', 'work', 'b');
SET ROLE regress_pgq_renamed;
SELECT count(*) FROM pgq_dequeue(1, 'a');
RESET ROLE;

-- USAGE on a schema that is not for everybody comes and goes with the rights.
SELECT * FROM pgq_check();
DROP EXTENSION pgq_ext;
DROP FUNCTION as_two;
CREATE SCHEMA "Odd Schema";
CREATE EXTENSION pgq_ext SCHEMA "Odd Schema";
SELECT "Odd Schema".pgq_grant('regress_pgq_two', 'work', 'default'), "Odd Schema".pgq_grant('regress_pgq_two', 'monitor');
SET ROLE regress_pgq_two;
SELECT count(*) FROM "Odd Schema".pgq_dequeue();
SELECT queue FROM "Odd Schema".pgq_queues;
SELECT count(*) FROM "Odd Schema".pgq_enqueuer;
RESET ROLE;
SELECT "Odd Schema".pgq_revoke('regress_pgq_two', 'monitor');
SELECT has_schema_privilege('regress_pgq_two', 'Odd Schema', 'USAGE');
SELECT "Odd Schema".pgq_revoke('regress_pgq_two', 'work', 'default');
SELECT has_schema_privilege('regress_pgq_two', 'Odd Schema', 'USAGE');
CREATE TABLE "Odd Schema".other ();
GRANT SELECT ON "Odd Schema".other TO regress_pgq_two;
SELECT "Odd Schema".pgq_grant('regress_pgq_two', 'produce'), "Odd Schema".pgq_revoke('regress_pgq_two', 'produce');
SELECT has_schema_privilege('regress_pgq_two', 'Odd Schema', 'USAGE');
SELECT * FROM "Odd Schema".pgq_check();
DROP EXTENSION pgq_ext;
SET client_min_messages = warning;
DROP SCHEMA "Odd Schema" CASCADE;
DROP FUNCTION error_in_grants, granted;
DROP OWNED BY regress_pgq_two;
DROP ROLE regress_pgq_two, regress_pgq_group, regress_pgq_renamed;
