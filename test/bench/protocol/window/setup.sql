-- A queue as most people write it: one table, a status, and an index for each condition of the query in claim.sql.
CREATE TABLE job (
    job_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    visible_at        timestamptz NOT NULL DEFAULT now(),
    created_at        timestamptz NOT NULL DEFAULT now(),
    priority          int         NOT NULL DEFAULT 0,
    attempt           int         NOT NULL DEFAULT 0,
    status            text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'retry')),
    queue             text        NOT NULL DEFAULT 'default',
    handler           text        NOT NULL DEFAULT 'ev',
    serialization_key text,
    worker            text,
    args              jsonb
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_pending ON job (queue, priority, job_id) WHERE status = 'pending';
CREATE INDEX job_key ON job (handler, serialization_key, job_id);
CREATE INDEX job_blocking ON job (handler, serialization_key) WHERE status IN ('in_progress', 'retry');
CREATE INDEX job_lease ON job (visible_at) WHERE status IN ('in_progress', 'retry');

CREATE TABLE archive (LIKE job, finished_at timestamptz);
CREATE INDEX archive_job_id ON archive (job_id);
