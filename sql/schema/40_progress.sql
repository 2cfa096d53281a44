-- How far the enqueuer has come, and what it could not convert.

-- One row. last_lsn is NULL until the slot exists; everything committed before it has become jobs. converted is the
-- same as a snapshot (before there is a slot, of the installation): the transactions that had ended by then. With it
-- the events that are missing are found in the tables when the slot is lost and the WAL behind last_lsn is gone; NULL
-- where it is not known. system_identifier, database and slot_name tell whose positions these are: in a restored or
-- cloned database they differ.
CREATE TABLE @extschema@.pgq_progress (
    installed_lsn     pg_lsn NOT NULL,
    last_lsn          pg_lsn,
    next_position     bigint NOT NULL DEFAULT 1,
    system_identifier bigint NOT NULL,
    database          oid    NOT NULL,
    slot_name         name,
    converted         pg_snapshot
) WITH (fillfactor = 50);
COMMENT ON TABLE @extschema@.pgq_progress IS 'one row: the position up to which the WAL has become jobs';

CREATE SEQUENCE @extschema@.pgq_position_seq;
COMMENT ON SEQUENCE @extschema@.pgq_position_seq IS 'above all positions of jobs; goes along with a dump, as pgq_progress does not';

-- One row for each large transaction of which pieces are still to be converted. It committed before last_lsn, at commit_lsn;
-- the first rows_converted of its events and requests are done. Its jobs have positions from first_position to below
-- end_position, which leaves out some; next_position is for the next one. xids are its own and its subtransactions':
-- converted shows them as ended. committed_at is the created_at of its jobs, by which they are known.
CREATE TABLE @extschema@.pgq_large_transaction (
    first_position bigint PRIMARY KEY,
    next_position  bigint NOT NULL,
    end_position   bigint NOT NULL,
    rows_converted bigint NOT NULL,
    commit_lsn     pg_lsn NOT NULL,
    committed_at   timestamptz NOT NULL,
    xids           bigint[] NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE @extschema@.pgq_large_transaction IS 'large transactions that are being converted in pieces';

CREATE TABLE @extschema@.pgq_event_error (
    error_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handler     text COLLATE "C" NOT NULL,
    handler_id  bigint      NOT NULL,
    source      regclass    NOT NULL,
    event       jsonb,
    sqlstate    text        NOT NULL,
    error       text        NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lsn         pg_lsn      NOT NULL,
    committed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE @extschema@.pgq_event_error IS 'events that a handler could not turn into a job';

INSERT INTO @extschema@.pgq_progress (installed_lsn, system_identifier, database, converted)
    SELECT pg_current_wal_insert_lsn(), c.system_identifier, d.oid, pg_current_snapshot()
    FROM pg_control_system() c, pg_database d
    WHERE d.datname = current_database();
INSERT INTO @extschema@.pgq_queue (queue, max_attempts, lease, backoff, max_backoff)
    VALUES ('default', 5, interval '30 s', interval '1 s', interval '5 min');
