-- Copies: what becomes of jobs and handlers in a database that is the copy of another one.
--
-- Old rows are no events there, and the jobs that were live belong to the original, which goes on working them. So in a
-- copy they are *held*: still pending in pgq_jobs, but never handed out, until pgq_adopt_jobs() lets them go. Held jobs
-- are kept in the archive with status 'h'; there they are in nobody's way.
--
--   * A clone (CREATE DATABASE ... TEMPLATE): its enqueuer finds another database's positions, and holds the jobs before
--     it does anything else (pgq_hold_jobs); until then pgq_dequeue hands out nothing. Handlers go on with what commits
--     in the clone.
--   * A restored dump: the triggers below hold each job as it is loaded. Handlers come back by the names of their table,
--     view and owner, but detached: they apply to nothing until pgq_adopt_handlers(), or the rows that are being restored
--     would be events.

-- pgq_hold_jobs: holds all live jobs and all enqueued ones; returns how many. For the enqueuer of a clone.
CREATE FUNCTION @extschema@.pgq_hold_jobs() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
WITH jobs AS (
    DELETE FROM @extschema@.pgq_job
    RETURNING job_id, position, visible_at, created_at, priority, attempt, failures, queue, handler, serialization_key,
              worker, last_error, args
), requests AS (
    DELETE FROM @extschema@.pgq_request RETURNING *
), held AS (
    INSERT INTO @extschema@.pgq_archive (job_id, position, visible_at, created_at, priority, attempt, failures, queue,
                                         handler, serialization_key, worker, last_error, args, finished_at, status)
    SELECT j.*, clock_timestamp(), 'h' FROM jobs j
    UNION ALL
    SELECT r.job_id, NULL, coalesce(r.run_at, r.created_at), r.created_at, r.priority, 0, 0, r.queue, r.handler,
           r.serialization_key, NULL, NULL, r.args, clock_timestamp(), 'h'
      FROM requests r WHERE r.kind = 'e'
    RETURNING job_id
)
SELECT count(*) FROM held;
END;
COMMENT ON FUNCTION @extschema@.pgq_hold_jobs IS 'hold the live jobs of a copied database; the enqueuer calls it';

-- pgq_adopt_jobs: lets the held jobs of a copy go, in their order, each at the end of its key. To be called once the
-- original does not work them any more. A single one goes by pgq_retry.
--
-- Returns how many. The enqueuer adds them once the calling transaction has committed.
-- Errors: 42704 the queue of a held job was dropped; 25006 in a read-only transaction or on a standby.
-- Locks: as pgq_retry.
CREATE FUNCTION @extschema@.pgq_adopt_jobs() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
SELECT count(*) FILTER (WHERE @extschema@.pgq_retry(held.job_id))
  FROM (SELECT a.job_id FROM @extschema@.pgq_archive a WHERE a.status = 'h'
         ORDER BY a.position NULLS LAST, a.job_id) held;
END;
COMMENT ON FUNCTION @extschema@.pgq_adopt_jobs IS 'let the jobs go that are held because this database is a copy';

-- pgq_attach_rule: lets the view of a restored handler go with the extension, as it does when it is created.
CREATE FUNCTION @extschema@.pgq_attach_rule(rule regclass) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_attach_rule';
COMMENT ON FUNCTION @extschema@.pgq_attach_rule IS 'part of pgq_adopt_handlers';

-- pgq_adopt_handlers: lets restored handlers apply to what commits from now on. To be called once, when the restore is
-- complete, by the owner of the extension.
--
-- Returns how many there were. One whose table or view was not restored is orphaned, see pgq_handlers.
-- Errors: 42501 not the owner; 25006 in a read-only transaction or on a standby.
-- Locks: as pgq_alter_handler.
CREATE FUNCTION @extschema@.pgq_adopt_handlers() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
SELECT @extschema@.pgq_attach_rule(h.rule)
  FROM @extschema@.pgq_handler h JOIN pg_class c ON c.oid = h.rule WHERE h.created_xid IS NULL;
-- As a row of its own: to the stream, a handler begins with the insert of its row.
WITH restored AS (
    DELETE FROM @extschema@.pgq_handler WHERE created_xid IS NULL RETURNING *
), adopted AS (
    INSERT INTO @extschema@.pgq_handler (handler_id, handler, source, rule, queue, serialization_key, filter, priority, args,
                                         created_at, created_xid, owner) OVERRIDING SYSTEM VALUE
    SELECT handler_id, handler, source, rule, queue, serialization_key, filter, priority, args, created_at,
           pg_current_xact_id(), owner FROM restored
    RETURNING handler_id
)
SELECT count(*) FROM adopted;
END;
COMMENT ON FUNCTION @extschema@.pgq_adopt_handlers IS 'let restored handlers apply to what commits from now on';

-- What a restore loads comes by COPY, and so by these triggers; what the extension writes itself does not. They find the
-- tables beside their own: the schema may have been renamed, and another may have its name.
CREATE FUNCTION @extschema@.pgq_job_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format($insert$
        INSERT INTO %I.pgq_archive (job_id, position, visible_at, created_at, finished_at, priority, attempt, failures, status,
                                    queue, handler, serialization_key, worker, last_error, args)
        SELECT $1.job_id, $1.position, $1.visible_at, $1.created_at, clock_timestamp(), $1.priority, $1.attempt, $1.failures, 'h',
               $1.queue, $1.handler, $1.serialization_key, $1.worker, $1.last_error, $1.args
        $insert$, TG_TABLE_SCHEMA) USING NEW;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_job_restored IS 'holds a live job that is restored';
CREATE TRIGGER pgq_restore BEFORE INSERT ON @extschema@.pgq_job FOR EACH ROW EXECUTE FUNCTION @extschema@.pgq_job_restored();

CREATE FUNCTION @extschema@.pgq_request_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.kind = 'e' THEN
        EXECUTE format($insert$
            INSERT INTO %I.pgq_archive (job_id, visible_at, created_at, finished_at, priority, attempt, failures, status,
                                        queue, handler, serialization_key, args)
            SELECT $1.job_id, coalesce($1.run_at, $1.created_at), $1.created_at, clock_timestamp(), $1.priority, 0, 0, 'h',
                   $1.queue, $1.handler, $1.serialization_key, $1.args
            $insert$, TG_TABLE_SCHEMA) USING NEW;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_request_restored IS 'holds an enqueued job that is restored';
CREATE TRIGGER pgq_restore BEFORE INSERT ON @extschema@.pgq_request
    FOR EACH ROW EXECUTE FUNCTION @extschema@.pgq_request_restored();

CREATE FUNCTION @extschema@.pgq_handler_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.created_xid := NULL;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_handler_restored IS 'detaches a handler that is restored';
CREATE TRIGGER pgq_restore BEFORE INSERT ON @extschema@.pgq_handler
    FOR EACH ROW WHEN (NEW.created_xid IS DISTINCT FROM pg_current_xact_id())
    EXECUTE FUNCTION @extschema@.pgq_handler_restored();

-- The queue 'default' is there already when its settings are loaded.
CREATE FUNCTION @extschema@.pgq_queue_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    updated bigint;
BEGIN
    EXECUTE format($update$
        UPDATE %I.pgq_queue q
           SET max_attempts = $1.max_attempts, lease = $1.lease, backoff = $1.backoff, max_backoff = $1.max_backoff,
               created_at = $1.created_at
         WHERE q.queue = $1.queue
        $update$, TG_TABLE_SCHEMA) USING NEW;
    GET DIAGNOSTICS updated = ROW_COUNT;
    RETURN CASE WHEN updated = 0 THEN NEW END;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_queue_restored IS 'restores the settings of the queue default';
CREATE TRIGGER pgq_restore BEFORE INSERT ON @extschema@.pgq_queue
    FOR EACH ROW WHEN (NEW.queue = 'default') EXECUTE FUNCTION @extschema@.pgq_queue_restored();
