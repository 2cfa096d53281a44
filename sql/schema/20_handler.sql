-- Handlers: the rules that turn events of a source into jobs.
--
-- A row is one version of a handler and never changes, but that it is retired. Altering a handler adds a version and
-- retires the old one; dropping retires it. The enqueuer meets both in the WAL, in commit order, and so knows exactly
-- which transactions a version applies to. When the stream has passed the retirement it removes the row.
--
-- The expressions live in a view over the source (rule), owned by the handler's owner: names are bound at creation,
-- renames are followed, dependencies and ownership are PostgreSQL's own. Retiring drops the view and keeps its query in
-- retired_rule, for the events that the stream has not reached yet.
--
-- source, rule and owner are dumped by their names, and so are restored as other OIDs. created_xid is NULL in a
-- restored row: it does not apply yet, see pgq_adopt_handlers.

CREATE TABLE @extschema@.pgq_handler (
    handler_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handler           text COLLATE "C" NOT NULL CHECK (octet_length(handler) BETWEEN 1 AND 255),
    source            regclass    NOT NULL,
    rule              regclass    NOT NULL,
    queue             text COLLATE "C" NOT NULL,
    serialization_key text,
    filter            text,
    priority          text,
    args              text,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_xid       xid8        DEFAULT pg_current_xact_id(),
    retired_xid       xid8,
    retired_rule      text,
    owner             regrole     NOT NULL
);
-- Names are unique among the versions that are not retired; creating waits for another creator of the same name.
CREATE UNIQUE INDEX pgq_handler_name ON @extschema@.pgq_handler (handler) WHERE retired_xid IS NULL;
COMMENT ON TABLE @extschema@.pgq_handler IS 'one row per version of a handler; the enqueuer removes what is retired';

-- The versions that apply at the enqueuer's position in the stream; only the enqueuer writes it.
CREATE TABLE @extschema@.pgq_active_handler (
    handler_id bigint PRIMARY KEY
);
COMMENT ON TABLE @extschema@.pgq_active_handler IS 'handler versions that apply at the position in pgq_progress';
