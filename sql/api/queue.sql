-- Creating, altering and dropping queues.

-- pgq_check_queue_settings: refuses what can't be a queue's settings; NULLs pass. Not for users.
CREATE FUNCTION @extschema@.pgq_check_queue_settings(max_attempts int, lease interval, backoff interval,
                                                     max_backoff interval) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    argument record;
BEGIN
    IF max_attempts <= 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'argument "max_attempts" must be positive';
    END IF;
    FOR argument IN VALUES ('lease', lease), ('backoff', backoff), ('max_backoff', max_backoff) LOOP
        IF argument.column2 <= interval '0' THEN
            RAISE invalid_parameter_value USING
                MESSAGE = format('argument "%s" must be a positive interval', argument.column1);
        ELSIF argument.column2 > interval '100 years' THEN
            RAISE invalid_parameter_value USING
                MESSAGE = format('argument "%s" is out of range', argument.column1),
                DETAIL = 'It may be as long as 100 years.';
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_check_queue_settings IS 'internal: refuse impossible settings of a queue';

-- pgq_create_queue: makes a queue.
--
-- queue         its name, 1 to 255 bytes
-- max_attempts  after so many failed runs and expired leases a job becomes a dead letter; positive
-- lease         for how long pgq_dequeue hands out jobs when the caller doesn't say; positive, up to 100 years
-- backoff       how long a job waits after its first failure; doubled with each further one
-- max_backoff   but not beyond this
-- Errors: 22004 an argument is NULL; 22023 an argument is not positive or too long, or the name; 42710 it exists.
-- Locks: waits for another transaction that is creating or dropping a queue of this name.
CREATE FUNCTION @extschema@.pgq_create_queue(queue text, max_attempts int DEFAULT 5, lease interval DEFAULT '30 s',
                                             backoff interval DEFAULT '1 s', max_backoff interval DEFAULT '5 min')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing text := CASE WHEN queue IS NULL THEN 'queue' WHEN max_attempts IS NULL THEN 'max_attempts'
                         WHEN lease IS NULL THEN 'lease' WHEN backoff IS NULL THEN 'backoff'
                         WHEN max_backoff IS NULL THEN 'max_backoff' END;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('argument "%s" must not be null', missing);
    END IF;
    IF octet_length(queue) NOT BETWEEN 1 AND 255 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'argument "queue" must have 1 to 255 bytes';
    END IF;
    PERFORM @extschema@.pgq_check_queue_settings(max_attempts, lease, backoff, max_backoff);
    INSERT INTO @extschema@.pgq_queue AS q (queue, max_attempts, lease, backoff, max_backoff)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE duplicate_object USING MESSAGE = format('queue "%s" already exists', queue);
    END IF;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_create_queue IS 'make a queue';

-- pgq_alter_queue: changes settings of a queue, for jobs it has as well as for later ones. NULL leaves a setting as it is.
-- A lease that was given stays; everything else is decided by the settings of the moment.
--
-- Arguments: as for pgq_create_queue.
-- Errors: 22004 queue NULL; 22023 a setting is not positive or too long; 42704 unknown queue.
-- Locks: the queue's row, against others that alter or drop it.
CREATE FUNCTION @extschema@.pgq_alter_queue(queue text, max_attempts int DEFAULT NULL, lease interval DEFAULT NULL,
                                            backoff interval DEFAULT NULL, max_backoff interval DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF queue IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'argument "queue" must not be null';
    END IF;
    PERFORM @extschema@.pgq_check_queue_settings(max_attempts, lease, backoff, max_backoff);
    UPDATE @extschema@.pgq_queue AS q
       SET max_attempts = coalesce($2, q.max_attempts), lease = coalesce($3, q.lease),
           backoff = coalesce($4, q.backoff), max_backoff = coalesce($5, q.max_backoff)
     WHERE q.queue = $1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('queue "%s" does not exist', queue);
    END IF;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_alter_queue IS 'change settings of a queue';

-- pgq_drop_queue: removes a queue that nothing uses.
--
-- queue  its name
-- Errors: 22004 queue NULL; 42704 unknown queue; 2BP01 it has live jobs, jobs that are being enqueued, or handlers.
-- 25001 in a transaction that is not READ COMMITTED, which could not see what others have just enqueued.
-- Locks: the queue's row; waits for transactions that have enqueued into it or made a handler for it.
CREATE FUNCTION @extschema@.pgq_drop_queue(queue text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    user_of_it text;
BEGIN
    IF queue IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'argument "queue" must not be null';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE active_sql_transaction USING MESSAGE = 'pgq_drop_queue() needs a READ COMMITTED transaction';
    END IF;
    DELETE FROM @extschema@.pgq_queue AS q WHERE q.queue = $1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('queue "%s" does not exist', queue);
    END IF;
    -- Whoever was using the queue held its row until his commit: this statement sees what he did.
    SELECT CASE WHEN EXISTS (SELECT FROM @extschema@.pgq_handler AS h WHERE h.queue = $1 AND h.retired_xid IS NULL)
                    THEN 'It has handlers.'
                WHEN EXISTS (SELECT FROM @extschema@.pgq_job AS j WHERE j.queue = $1)
                    THEN 'It has live jobs.'
                WHEN EXISTS (SELECT FROM @extschema@.pgq_request AS r WHERE r.queue = $1)
                    THEN 'Jobs are being enqueued into it.' END
      INTO user_of_it;
    IF user_of_it IS NOT NULL THEN
        RAISE dependent_objects_still_exist USING MESSAGE = format('cannot drop queue "%s"', queue),
            DETAIL = user_of_it;
    END IF;
END $$;
COMMENT ON FUNCTION @extschema@.pgq_drop_queue IS 'remove a queue that has neither jobs nor handlers';
