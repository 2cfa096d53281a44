-- What the demo claims at its end, computed from the two tables and the workers' own logs; gives name=value pairs.
--
-- Reads pgbench_history (the events), pgq_jobs (what they became) and demo_log (what the workers did). Rows of
-- pgbench_history have no key. They are compared by content, equal ones numbered, so that set operations compare
-- multisets.

CREATE TEMP TABLE event AS
    SELECT tid, bid, aid, delta, mtime, pg_xact_commit_timestamp(xmin) AS committed,
           row_number() OVER (PARTITION BY tid, bid, aid, delta, mtime ORDER BY pg_xact_commit_timestamp(xmin)) AS n
      FROM pgbench_history;

CREATE TEMP TABLE job AS
    SELECT tid, bid, aid, delta, mtime, job_id, position, status,
           row_number() OVER (PARTITION BY tid, bid, aid, delta, mtime ORDER BY position) AS n
      FROM pgq_jobs, jsonb_to_record(args) AS row (tid int, bid int, aid int, delta int, mtime timestamp)
     WHERE handler = 'ledger';

-- Every run that a worker logged, with the job's place in the order of jobs and its event's commit. The clock of the
-- commits is the server's and the one of the runs the workers'; here they are the same.
CREATE TEMP TABLE run AS
    SELECT key, to_timestamp(started) AS started, to_timestamp(ended) AS ended, position, committed
      FROM demo_log LEFT JOIN job USING (job_id) LEFT JOIN event USING (tid, bid, aid, delta, mtime, n);

-- What was done: the runs whose completion the server confirmed.
CREATE TEMP TABLE done AS
    SELECT tid, bid, aid, delta, mtime,
           row_number() OVER (PARTITION BY tid, bid, aid, delta, mtime ORDER BY started) AS n
      FROM demo_log, jsonb_to_record(args) AS row (tid int, bid int, aid int, delta int, mtime timestamp)
     WHERE outcome = 'completed';

-- Within a key runs start in commit order: by the jobs' positions, and by the commit timestamps, which the extension
-- has no hand in (they rise strictly, as a transaction holds the row locks of its branch and its teller until it has
-- committed). And they don't overlap.
CREATE TEMP TABLE sequence AS
    SELECT position  < max(position)  OVER earlier AS wrong_place,
           committed < max(committed) OVER earlier AS wrong_time,
           started   < max(ended)     OVER earlier AS too_early,
           committed < max(ended)     OVER earlier AS waited -- for an earlier job of its key
      FROM run
    WINDOW earlier AS (PARTITION BY key ORDER BY started ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);

CREATE TEMP VIEW event_row AS SELECT tid, bid, aid, delta, mtime, n FROM event;
CREATE TEMP VIEW job_row   AS SELECT tid, bid, aid, delta, mtime, n FROM job;

SELECT 'events='     || (SELECT count(*) FROM event),
       'jobs='       || (SELECT count(*) FROM job),
       'done='       || (SELECT count(*) FROM done),
       'errors='     || (SELECT count(*) FROM pgq_event_errors),
       'job_lost='   || (SELECT count(*) FROM (TABLE event_row EXCEPT TABLE job_row) r),
       'job_more='   || (SELECT count(*) FROM (TABLE job_row EXCEPT TABLE event_row) r),
       'done_lost='  || (SELECT count(*) FROM (TABLE event_row EXCEPT TABLE done) r),
       'done_more='  || (SELECT count(*) FROM (TABLE done EXCEPT TABLE event_row) r),
       'unfinished=' || (SELECT count(*) FROM job WHERE status <> 'completed'),
       'untimed='    || (SELECT count(*) FROM run WHERE committed IS NULL),
       'violations=' || (SELECT count(*) FROM sequence WHERE wrong_place OR wrong_time OR too_early),
       'broken='     || (SELECT count(*) FROM pgq_check()),
       'waited='     || (SELECT count(*) FROM sequence WHERE waited),
       'keys='       || (SELECT count(DISTINCT key) FROM run),
       'rate='       || (SELECT round(count(*) / extract(epoch FROM max(ended) - min(started))) FROM run);

SELECT 'seen_p50=' || round(1000 * extract(epoch FROM latency_p50), 1),
       'seen_p99=' || round(1000 * extract(epoch FROM latency_p99), 1)
  FROM pgq_enqueuer;

SELECT 'hands_p50=' || round(1000 * extract(epoch FROM p[1]), 1),
       'hands_p99=' || round(1000 * extract(epoch FROM p[2]), 1)
  FROM (SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY started - committed) AS p FROM run) r;
