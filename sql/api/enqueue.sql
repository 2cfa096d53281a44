-- pgq_enqueue: asks for a job that has no event. It becomes a job, in commit order, once the transaction has committed.
--
-- handler            the name of the work, 1 to 255 bytes; need not be a handler with a source
-- args               what the work is about; JSON null is a value like any other
-- serialization_key  jobs of the same handler and key run one at a time, in commit order; NULL: no order
-- queue              which workers are to do it
-- priority           a smaller number is more urgent
-- run_at             not before this time; it takes its place in its key only then; NULL: at once
-- idempotency_key    up to 1024 bytes; the same key in the same queue gives the same job, as long as that is known;
--                    NULL: none
--
-- Returns the job's id; where the idempotency key is known, that of the job which has it (and nothing else is looked at).
-- Errors: 22004 handler, args, queue or priority NULL; 22023 handler or idempotency_key too long or empty, run_at
-- infinite; 42704 unknown queue; 25006 in a read-only transaction or on a standby.
-- Locks: the queue's row FOR KEY SHARE, which keeps it from being dropped. Waits for a transaction in progress that has
-- used the same idempotency key; for nobody else who enqueues.
CREATE FUNCTION @extschema@.pgq_enqueue(handler text, args jsonb, serialization_key text DEFAULT NULL,
                                        queue text DEFAULT 'default', priority int DEFAULT 0,
                                        run_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_enqueue';
COMMENT ON FUNCTION @extschema@.pgq_enqueue IS 'ask for a job; returns its id';
