-- pgq_enqueue: asks for a job that has no event. It becomes a job, in commit order, once the transaction has committed.
--
-- handler            the name of the work, 1 to 255 bytes; need not be a handler with a source
-- args               what the work is about; JSON null is a value like any other
-- serialization_key  jobs of the same handler and key run one at a time, in commit order; NULL: no order
-- queue              which workers are to do it
-- priority           a smaller number is more urgent
-- run_at             not before this time; it takes its place in its key only then; NULL: at once
-- idempotency_key    up to 1024 bytes; the same key in the same queue gives the same job, as long as that is known; NULL: none
--
-- Returns the job's id; where the idempotency key is known, that of the job which has it (and nothing else is looked at).
-- Errors: 22004 handler, args, queue or priority NULL; 22023 handler or idempotency_key too long or empty, run_at infinite;
-- 42704 unknown queue; 40001 under REPEATABLE READ, where a concurrent caller had the same idempotency key.
-- Locks: the queue's row FOR KEY SHARE, which keeps it from being dropped. Waits for a transaction in progress that has
-- used the same idempotency key; for nobody else who enqueues.
CREATE FUNCTION @extschema@.pgq_enqueue(handler text, args jsonb, serialization_key text DEFAULT NULL,
                                        queue text DEFAULT 'default', priority int DEFAULT 0,
                                        run_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing text := CASE WHEN handler IS NULL THEN 'handler' WHEN args IS NULL THEN 'args'
                         WHEN queue IS NULL THEN 'queue' WHEN priority IS NULL THEN 'priority' END;
    new_job bigint;
    known_job bigint;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('argument "%s" must not be null', missing);
    ELSIF octet_length(handler) NOT BETWEEN 1 AND 255 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'argument "handler" must have 1 to 255 bytes';
    ELSIF NOT isfinite(run_at) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'argument "run_at" must be finite';
    ELSIF octet_length(idempotency_key) NOT BETWEEN 1 AND 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'argument "idempotency_key" must have 1 to 1024 bytes';
    END IF;
    PERFORM FROM @extschema@.pgq_queue AS q WHERE q.queue = $4 FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('queue "%s" does not exist', queue);
    END IF;

    new_job := nextval('@extschema@.pgq_job_id_seq');
    WHILE idempotency_key IS NOT NULL LOOP
        INSERT INTO @extschema@.pgq_idempotency AS i (queue, idempotency_key, job_id)
            VALUES ($4, $7, new_job) ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        SELECT i.job_id INTO known_job FROM @extschema@.pgq_idempotency AS i
         WHERE i.queue = $4 AND i.idempotency_key = $7;
        IF FOUND THEN
            RETURN known_job;
        END IF;
        -- It has been forgotten between the two statements: try again.
    END LOOP;
    INSERT INTO @extschema@.pgq_request (job_id, run_at, priority, kind, queue, handler, serialization_key, args)
        VALUES (new_job, $6, $5, 'e', $4, $1, $3, $2);
    RETURN new_job;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_enqueue IS 'ask for a job; returns its id';
