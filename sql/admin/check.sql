-- pgq_check: looks for rows that break the rules by which the extension keeps them: of keys, of hand-outs, of where a job
-- can be, of handlers, and of the position in the WAL. Returns a row for each violation, none when all is well, at any
-- moment and under any load. job_id is NULL where it is not about a job.
--
-- All tables are read in one snapshot. What is compared with the enqueuer's own state, or with its slot, is compared only
-- while it streams: before, its position and its slot need not fit, and that is what it mends as it starts. Its state is
-- looked at before the snapshot is taken, and so is the slot, which may then lag but never lead; in an isolation level
-- that has one snapshot for the whole transaction, these comparisons are left out.
-- Locks: none that anyone waits for. Compiling so large a query (jit) would take hundreds of times as long as running it.

-- The hash of a serialization key, as pgq_job has it; NULL for none.
CREATE FUNCTION @extschema@.pgq_key_hash(handler text, serialization_key text) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgq_ext_key_hash';
COMMENT ON FUNCTION @extschema@.pgq_key_hash IS 'part of pgq_check';

-- What the enqueuer and its slot are up to. streams: there is something to compare with. fault: the two don't belong
-- together.
CREATE FUNCTION @extschema@.pgq_stream_seen(OUT streams boolean, OUT slot_lsn pg_lsn, OUT fault text)
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgq_ext_stream_seen';
COMMENT ON FUNCTION @extschema@.pgq_stream_seen IS 'part of pgq_check';

-- What breaks the rules in the present snapshot, which is newer than what pgq_stream_seen returned.
CREATE FUNCTION @extschema@.pgq_violations(streams boolean, slot_lsn pg_lsn, fault text)
RETURNS TABLE (violation text, job_id bigint, detail text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
BEGIN ATOMIC
    -- Keys. The condition is not that of the index, which would be read in the order of hashes: slow when there are many.
    -- Only a job that is not verified may be ready beside an earlier one: dequeue looks for that.
    SELECT v.violation, v.job_id, format('handler %s, key %s', v.handler, left(v.serialization_key, 100))
      FROM (SELECT CASE WHEN k.before IS NULL THEN CASE WHEN k.state = 'w' THEN 'waits, but is the first of its key' END
                        WHEN k.state <> 'p' AND k.state_before = 'p' THEN 'has a place, but an earlier job of its key is parked'
                        WHEN k.before = k.position THEN 'at the position of another job of its key'
                        WHEN k.held THEN 'handed out, but not the first of its key'
                        WHEN k.state NOT IN ('w', 'p') AND k.verified THEN 'ready, but not the first of its key' END AS violation, k.*
              FROM (SELECT j.*, lag(j.position) OVER of_key AS before, lag(j.state) OVER of_key AS state_before
                      FROM @extschema@.pgq_job j WHERE j.serialization_key IS NOT NULL AND j.state <> 's'
                    WINDOW of_key AS (PARTITION BY j.key_hash, j.handler, j.serialization_key ORDER BY j.position)) k) v
     WHERE v.violation IS NOT NULL
    UNION ALL
    -- Single jobs.
    SELECT v.violation, v.job_id, format('state %s, position %s, attempt %s, failures %s', v.state, v.position, v.attempt,
                                         v.failures)
      FROM (SELECT CASE WHEN j.key_hash IS DISTINCT FROM @extschema@.pgq_key_hash(j.handler, j.serialization_key)
                             THEN 'hash is not that of the key'
                        WHEN (j.position IS NULL) <> (j.state = 's') THEN 'scheduled with a position, or live without'
                        WHEN j.position >= given.next OR j.position >= l.next_position AND j.position < l.end_position
                             THEN 'at a position that is still to be given'
                        WHEN j.lease_until IS NOT NULL AND (j.state <> 'r' OR NOT j.held) THEN 'leased, but not held'
                        WHEN j.state IN ('s', 'p', 'w', 'd') AND j.held THEN 'held, but not handed out'
                        WHEN j.held AND j.attempt < 1 THEN 'held, but never handed out'
                        WHEN NOT j.verified AND (j.state <> 'r' OR j.lease_until IS NOT NULL) THEN 'unverified, but not ready'
                        WHEN j.state IN ('w', 'p') AND j.key_hash IS NULL THEN 'waits, but has no key'
                        WHEN j.state IN ('d', 's') AND NOT isfinite(j.visible_at) OR NOT isfinite(j.lease_until) THEN 'never due'
                        WHEN j.failures NOT BETWEEN 0 AND j.attempt THEN 'more failures than attempts' END AS violation, j.*
              FROM @extschema@.pgq_job j
             CROSS JOIN (SELECT max(p.next_position) FROM @extschema@.pgq_progress p) AS given (next)
              LEFT JOIN @extschema@.pgq_large_transaction l ON j.position BETWEEN l.first_position AND l.end_position - 1) v
     WHERE v.violation IS NOT NULL
    UNION ALL
    -- Where a job is: asked for, live or finished, one after the other.
    SELECT 'live and finished', j.job_id, NULL
      FROM @extschema@.pgq_job j JOIN @extschema@.pgq_archive a ON a.job_id = j.job_id
    UNION ALL
    SELECT 'live and still to be enqueued', j.job_id, NULL
      FROM @extschema@.pgq_job j JOIN @extschema@.pgq_request r ON r.job_id = j.job_id AND r.kind = 'e'
    UNION ALL
    SELECT 'finished and still to be enqueued', a.job_id, NULL
      FROM @extschema@.pgq_archive a JOIN @extschema@.pgq_request r ON r.job_id = a.job_id AND r.kind = 'e'
    UNION ALL
    SELECT 'finished more than once', a.job_id, NULL
      FROM @extschema@.pgq_archive a GROUP BY a.job_id HAVING count(*) > 1
    UNION ALL
    -- Numbers given out twice would be the same job. A sequence is read as it is now, and so is not behind the snapshot.
    SELECT 'id above its sequence', CASE WHEN i.name = 'job' THEN i.highest END, format('%s %s', i.name, i.highest)
      FROM (SELECT 'job', greatest((SELECT max(j.job_id) FROM @extschema@.pgq_job j),
                                   (SELECT max(a.job_id) FROM @extschema@.pgq_archive a),
                                   (SELECT max(r.job_id) FROM @extschema@.pgq_request r WHERE r.kind = 'e')),
                   (SELECT s.last_value - (NOT s.is_called)::int FROM @extschema@.pgq_job_id_seq s)
            UNION ALL
            SELECT 'request', (SELECT max(r.request_id) FROM @extschema@.pgq_request r),
                   (SELECT s.last_value - (NOT s.is_called)::int FROM @extschema@.pgq_request_request_id_seq s)
            UNION ALL
            SELECT 'handler', (SELECT max(h.handler_id) FROM @extschema@.pgq_handler h),
                   (SELECT s.last_value - (NOT s.is_called)::int FROM @extschema@.pgq_handler_handler_id_seq s)
            UNION ALL
            SELECT 'event error', (SELECT max(e.error_id) FROM @extschema@.pgq_event_error e),
                   (SELECT s.last_value - (NOT s.is_called)::int FROM @extschema@.pgq_event_error_error_id_seq s))
           AS i (name, highest, given)
     WHERE i.highest > i.given
    UNION ALL
    -- What needs a queue holds it.
    SELECT 'queue does not exist', u.job_id, format('%s of queue %s', u.what, u.queue)
      FROM (SELECT 'job', j.job_id, j.queue FROM @extschema@.pgq_job j
            UNION ALL
            SELECT 'request', r.job_id, r.queue FROM @extschema@.pgq_request r WHERE r.queue IS NOT NULL
            UNION ALL
            SELECT 'handler ' || h.handler, NULL, h.queue FROM @extschema@.pgq_handler h WHERE h.retired_xid IS NULL
            UNION ALL
            SELECT 'right', NULL, w.queue FROM @extschema@.pgq_queue_worker w) AS u (what, job_id, queue)
     WHERE NOT EXISTS (SELECT FROM @extschema@.pgq_queue q WHERE q.queue = u.queue)
    UNION ALL
    -- The position, and what goes with it in one commit.
    SELECT 'not one position', NULL, format('%s rows in pgq_progress', count(*))
      FROM @extschema@.pgq_progress HAVING count(*) <> 1
    UNION ALL
    SELECT fault, NULL, NULL WHERE fault IS NOT NULL
    UNION ALL
    SELECT 'the slot is ahead of the position', NULL, format('slot %s, position %s', slot_lsn, p.last_lsn)
      FROM @extschema@.pgq_progress p WHERE streams AND slot_lsn > p.last_lsn
    UNION ALL
    SELECT 'the position is beyond the end of the WAL', NULL, format('position %s', p.last_lsn)
      FROM @extschema@.pgq_progress p WHERE CASE WHEN streams THEN p.last_lsn > pg_current_wal_insert_lsn() END
    UNION ALL
    SELECT v.violation, NULL, format('version %s of handler %s', v.handler_id, v.handler)
      FROM (SELECT CASE WHEN pg_visible_in_snapshot(h.retired_xid, p.converted) THEN 'retired, but not removed'
                        WHEN pg_visible_in_snapshot(h.created_xid, p.converted) <> (a.handler_id IS NOT NULL)
                             THEN 'applies, but is not active, or the reverse' END AS violation, h.*
              FROM @extschema@.pgq_handler h
              JOIN @extschema@.pgq_progress p ON streams
              LEFT JOIN @extschema@.pgq_active_handler a ON a.handler_id = h.handler_id) v
     WHERE v.violation IS NOT NULL
    UNION ALL
    SELECT 'active, but not there', NULL, format('version %s', a.handler_id)
      FROM @extschema@.pgq_active_handler a
     WHERE NOT EXISTS (SELECT FROM @extschema@.pgq_handler h WHERE h.handler_id = a.handler_id)
    UNION ALL
    -- Positions are reserved for each large transaction by itself.
    SELECT 'positions of a large transaction do not fit', NULL, format('%s, %s, %s', l.first_position, l.next_position, l.end_position)
      FROM @extschema@.pgq_large_transaction l
      LEFT JOIN @extschema@.pgq_progress p ON true
     WHERE l.next_position NOT BETWEEN l.first_position AND l.end_position OR l.end_position > p.next_position
        OR EXISTS (SELECT FROM @extschema@.pgq_large_transaction o
                    WHERE o.first_position > l.first_position AND o.first_position < l.end_position)
    UNION ALL
    -- A cancellation whose job is in somebody's hands is kept for later; it has run_at.
    SELECT 'passed, but not done', r.job_id, format('request %s, kind %s', r.request_id, r.kind)
      FROM @extschema@.pgq_request r
      JOIN @extschema@.pgq_progress p ON streams
     CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS x (next)
     WHERE NOT (r.kind = 'c' AND r.run_at IS NOT NULL)
       AND NOT EXISTS (SELECT FROM @extschema@.pgq_large_transaction) -- which may be what brings it
       AND pg_visible_in_snapshot((x.next - (x.next - r.xmin::text::bigint) % 4294967296)::text::xid8, p.converted);
END;
COMMENT ON FUNCTION @extschema@.pgq_violations IS 'part of pgq_check';

CREATE FUNCTION @extschema@.pgq_check() RETURNS TABLE (violation text, job_id bigint, detail text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
BEGIN ATOMIC
SELECT v.violation, v.job_id, v.detail
  FROM @extschema@.pgq_stream_seen() s CROSS JOIN LATERAL @extschema@.pgq_violations(s.streams, s.slot_lsn, s.fault) v;
END;
COMMENT ON FUNCTION @extschema@.pgq_check IS 'list what breaks the extension''s own rules; nothing when all is well';
