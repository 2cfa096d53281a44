-- The enqueuer as an operator sees it. Counters and latencies are since the enqueuer's entry in shared memory exists,
-- that is since the server's start or CREATE EXTENSION; without one, the positions are those it left in the table.

CREATE FUNCTION @extschema@.pgq_enqueuer_status(
    OUT pid int, OUT state text, OUT slot_name text, OUT last_lsn pg_lsn, OUT last_converted_at timestamptz,
    OUT last_error text, OUT last_error_at timestamptz, OUT events bigint, OUT jobs bigint, OUT errors bigint,
    OUT latency_p50 interval, OUT latency_p99 interval)
    RETURNS record LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'pgq_ext_enqueuer_status';
COMMENT ON FUNCTION @extschema@.pgq_enqueuer_status() IS 'what shared memory knows about this database''s enqueuer';

CREATE VIEW @extschema@.pgq_enqueuer AS
SELECT e.pid,
       e.state,
       coalesce(e.slot_name, p.slot_name::text) AS slot_name,
       lsn.last_lsn,
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - lsn.last_lsn
            WHEN lsn.last_lsn IS NOT NULL THEN greatest(pg_current_wal_lsn() - lsn.last_lsn, 0)
       END::bigint AS lag_bytes,
       e.last_converted_at,
       e.last_error,
       e.last_error_at,
       e.events,
       e.jobs,
       e.errors,
       e.latency_p50,
       e.latency_p99
  FROM @extschema@.pgq_enqueuer_status() e
  LEFT JOIN @extschema@.pgq_progress p ON true
 CROSS JOIN LATERAL (SELECT coalesce(e.last_lsn, p.last_lsn)) lsn(last_lsn);
COMMENT ON VIEW @extschema@.pgq_enqueuer IS 'one row: whether this database''s enqueuer runs, and how far it has come';
