-- The handlers that apply to events committed now, and the events that handlers could not convert.

CREATE VIEW @extschema@.pgq_handlers AS
SELECT h.handler,
       h.source::regclass AS source,
       h.queue,
       h.serialization_key,
       h.filter,
       h.priority,
       h.args,
       COALESCE(v.relowner, h.owner)::regrole AS owner,
       h.created_at,
       v.oid IS NULL AS orphaned
FROM @extschema@.pgq_handler h
LEFT JOIN pg_class v ON v.oid = h.rule
WHERE h.retired_xid IS NULL;
COMMENT ON VIEW @extschema@.pgq_handlers IS 'the handlers, with their expressions as they were written';
COMMENT ON COLUMN @extschema@.pgq_handlers.orphaned IS
    'what its expressions need was dropped with CASCADE: its events become event errors';

CREATE VIEW @extschema@.pgq_event_errors AS
SELECT e.error_id,
       e.handler,
       e.source::regclass AS source,
       e.event,
       e.sqlstate,
       e.error,
       e.occurred_at,
       e.lsn
FROM @extschema@.pgq_event_error e;
COMMENT ON VIEW @extschema@.pgq_event_errors IS 'events that a handler could not turn into a job, with the reason';
