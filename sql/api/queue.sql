-- Creating, altering and dropping queues.

-- pgq_create_queue: makes a queue.
--
-- queue         its name, 1 to 255 bytes
-- max_attempts  after so many failed runs and expired leases a job becomes a dead letter; positive
-- lease         for how long pgq_dequeue hands out jobs when the caller doesn't say; positive, up to 100 years
-- backoff       how long a job waits after its first failure; doubled with each further one
-- max_backoff   but not beyond this
-- Errors: 22004 an argument is NULL; 22023 an argument is not positive or too long, or the name; 42710 it exists; 25006
-- in a read-only transaction or on a standby.
-- Locks: waits for another transaction that is creating or dropping a queue of this name.
CREATE FUNCTION @extschema@.pgq_create_queue(queue text, max_attempts int DEFAULT 5, lease interval DEFAULT '30 s',
                                             backoff interval DEFAULT '1 s', max_backoff interval DEFAULT '5 min')
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_create_queue';
COMMENT ON FUNCTION @extschema@.pgq_create_queue IS 'make a queue';

-- pgq_alter_queue: changes settings of a queue, for jobs it has as well as for later ones. NULL leaves a setting as it is.
-- A lease that was given stays; everything else is decided by the settings of the moment.
--
-- Arguments: as for pgq_create_queue.
-- Errors: 22004 queue NULL; 22023 a setting is not positive or too long; 42704 unknown queue; 25006 in a read-only
-- transaction or on a standby.
-- Locks: the queue's row, against others that alter or drop it.
CREATE FUNCTION @extschema@.pgq_alter_queue(queue text, max_attempts int DEFAULT NULL, lease interval DEFAULT NULL,
                                            backoff interval DEFAULT NULL, max_backoff interval DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_alter_queue';
COMMENT ON FUNCTION @extschema@.pgq_alter_queue IS 'change settings of a queue';

-- pgq_drop_queue: removes a queue that nothing uses.
--
-- queue  its name
-- Errors: 22004 queue NULL; 42704 unknown queue; 2BP01 it has live jobs, jobs that are being enqueued, or handlers;
-- 25006 in a read-only transaction or on a standby.
-- Locks: the queue's name, and its row; waits for transactions that have enqueued into it or made a handler for it.
CREATE FUNCTION @extschema@.pgq_drop_queue(queue text) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_drop_queue';
COMMENT ON FUNCTION @extschema@.pgq_drop_queue IS 'remove a queue that has neither jobs nor handlers';
