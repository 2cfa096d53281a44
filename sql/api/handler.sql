-- Handlers: rules that turn the events of a source into jobs.
--
-- Arguments: handler            name, 1 to 255 bytes; jobs carry it and tell by it which code to run
--            source             permanent table (partitioned ones through their root, or any partition); not NULL
--            serialization_key  SQL expression over the row, cast to text; NULL or a NULL result: no serialization
--            filter             SQL expression of type boolean; only rows that give true; NULL: all
--            priority           SQL expression, cast to int; smaller is more urgent; NULL: 0
--            args               SQL expression, cast to jsonb; NULL: to_jsonb of the row
--            queue              where the jobs go; not NULL
-- In an expression the row's columns are in scope by name, the row as a whole by the table's name; subqueries,
-- aggregates, window and set-returning functions are not allowed. Names are bound at once, with the caller's
-- search_path. The expressions run with the rights of the handler's owner.
--
-- In pgq_alter_handler NULL leaves as it is, and '' removes an expression.
--
-- A definition applies to the events of the transactions that commit after the caller's.
--
-- Errors: 22004 argument must not be NULL          22023 bad name
--         42710 handler exists                     42704 unknown handler or queue
--         42809 source is no permanent table       42501 no SELECT on the source, or not the handler's owner
--         42601, 42703, ... a fault in an expression, which the message names
-- Locks:  the handler's name against other definitions, the queue's row FOR KEY SHARE, the source in ACCESS SHARE;
--         until the transaction ends. No producer and no worker waits for them.

CREATE FUNCTION @extschema@.pgq_create_handler(
    handler           text,
    source            regclass,
    serialization_key text DEFAULT NULL,
    filter            text DEFAULT NULL,
    priority          text DEFAULT '0',
    args              text DEFAULT NULL,
    queue             text DEFAULT 'default')
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_create_handler';
COMMENT ON FUNCTION @extschema@.pgq_create_handler(text, regclass, text, text, text, text, text) IS
    'defines a handler: every row committed to source from now on becomes a job';

CREATE FUNCTION @extschema@.pgq_alter_handler(
    handler           text,
    source            regclass DEFAULT NULL,
    serialization_key text DEFAULT NULL,
    filter            text DEFAULT NULL,
    priority          text DEFAULT NULL,
    args              text DEFAULT NULL,
    queue             text DEFAULT NULL)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_alter_handler';
COMMENT ON FUNCTION @extschema@.pgq_alter_handler(text, regclass, text, text, text, text, text) IS
    'changes a handler; NULL leaves as it is, an empty text removes an expression';

CREATE FUNCTION @extschema@.pgq_drop_handler(handler text)
RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_drop_handler';
COMMENT ON FUNCTION @extschema@.pgq_drop_handler(text) IS
    'drops a handler; its live jobs stay and can be worked';
