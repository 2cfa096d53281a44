-- Jobs: the live ones, the archive of finished ones, and the requests that the enqueuer turns into live ones.

CREATE SEQUENCE @extschema@.pgq_job_id_seq;
COMMENT ON SEQUENCE @extschema@.pgq_job_id_seq IS 'job ids, for jobs of events and of pgq_enqueue alike';

-- state: 's' scheduled  not due yet and without a place in its key; becomes ready or waiting when due
--        'p' parked     has its position, but no place in its key before a large transaction has been converted
--        'r' ready      head of its key (or without one), can be claimed unless it is leased
--        'w' waiting    behind another live job of its key
--        'd' delayed    head of its key, not due yet: between attempts
-- lease_until: the job is in a worker's hands until then; NULL when it is not, or when that time has passed and was acted on
-- held:     the hand-out with this attempt number is still the worker's (leased, or ready again after the lease ran out)
-- verified: false on a ready job that may still have a live predecessor in its key; dequeue looks for it
-- key_hash: hash of handler and serialization_key; finds the live jobs of a key, which compare handler and key in full
-- Every update compares the columns that indexes have: as long as none before them is NULL or of any length, their places
-- in the row are known.
CREATE TABLE @extschema@.pgq_job (
    job_id            bigint      NOT NULL,
    position          bigint,
    visible_at        timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    priority          int         NOT NULL,
    attempt           int         NOT NULL,
    failures          int         NOT NULL,
    state             "char"      NOT NULL CHECK (state IN ('s', 'p', 'r', 'w', 'd')),
    held              boolean     NOT NULL,
    verified          boolean     NOT NULL,
    key_hash          bigint,
    queue             text COLLATE "C" NOT NULL,
    handler           text COLLATE "C" NOT NULL,
    serialization_key text COLLATE "C",
    lease_until       timestamptz,
    worker            text,
    last_error        text,
    args              jsonb,
    PRIMARY KEY (job_id) WITH (deduplicate_items = off)
) WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
        vacuum_truncate = off);
-- Of these indexes' keys there are no two alike but those of dead versions: nothing is gained by looking for them.
-- Of the queue its hash: to compare names would be a third of what an entry costs.
CREATE INDEX pgq_job_ready ON @extschema@.pgq_job (hashtext(queue), priority, position) WITH (deduplicate_items = off) WHERE state = 'r';
CREATE INDEX pgq_job_key ON @extschema@.pgq_job (key_hash, position) WITH (deduplicate_items = off)
 WHERE key_hash IS NOT NULL AND state NOT IN ('s', 'p');
CREATE INDEX pgq_job_parked ON @extschema@.pgq_job (position) WHERE state = 'p';
CREATE INDEX pgq_job_timer ON @extschema@.pgq_job (visible_at) WHERE state IN ('d', 's');
COMMENT ON TABLE @extschema@.pgq_job IS 'live jobs; only the enqueuer adds rows, in commit order';

-- status: 'c' completed, 'f' failed for good (dead letter), 'x' cancelled; 'h' held: still to be done, but not here (a
-- copy)
CREATE TABLE @extschema@.pgq_archive (
    job_id            bigint      NOT NULL,
    position          bigint,
    visible_at        timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    finished_at       timestamptz NOT NULL,
    priority          int         NOT NULL,
    attempt           int         NOT NULL,
    failures          int         NOT NULL,
    status            "char"      NOT NULL CHECK (status IN ('c', 'f', 'x', 'h')),
    queue             text COLLATE "C" NOT NULL,
    handler           text COLLATE "C" NOT NULL,
    serialization_key text COLLATE "C",
    worker            text,
    last_error        text,
    args              jsonb,
    result            jsonb
);
CREATE INDEX pgq_archive_job_id ON @extschema@.pgq_archive (job_id);
CREATE INDEX pgq_archive_held ON @extschema@.pgq_archive (position) WHERE status = 'h';
CREATE INDEX pgq_archive_failed ON @extschema@.pgq_archive (queue) WHERE status = 'f';
COMMENT ON TABLE @extschema@.pgq_archive IS 'finished jobs: completed, failed for good (dead letters), cancelled; and those held in a copy';

-- kind: 'e' enqueue, 'r' retry of a dead letter, 'c' cancel of a job whose enqueue request is not converted yet,
--       'v' retry of an event error, whose id is in job_id
CREATE TABLE @extschema@.pgq_request (
    request_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id            bigint      NOT NULL,
    run_at            timestamptz,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    priority          int         NOT NULL DEFAULT 0,
    kind              "char"      NOT NULL CHECK (kind IN ('e', 'r', 'c', 'v')),
    queue             text COLLATE "C",
    handler           text COLLATE "C",
    serialization_key text COLLATE "C",
    args              jsonb
);
CREATE INDEX pgq_request_job_id ON @extschema@.pgq_request (job_id);
COMMENT ON TABLE @extschema@.pgq_request IS 'what callers want done to the job table; the enqueuer does it, in commit order';

CREATE TABLE @extschema@.pgq_idempotency (
    queue           text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    job_id          bigint NOT NULL,
    PRIMARY KEY (queue, idempotency_key)
);
COMMENT ON TABLE @extschema@.pgq_idempotency IS 'which job has an idempotency key, as long as that job is known';
