-- Queues: the pools of jobs that workers serve, and the settings their jobs live by.

CREATE TABLE @extschema@.pgq_queue (
    queue        text COLLATE "C" PRIMARY KEY CHECK (octet_length(queue) BETWEEN 1 AND 255),
    max_attempts int         NOT NULL CHECK (max_attempts > 0),
    lease        interval    NOT NULL CHECK (lease > interval '0'),
    backoff      interval    NOT NULL CHECK (backoff > interval '0'),
    max_backoff  interval    NOT NULL CHECK (max_backoff > interval '0'),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE @extschema@.pgq_queue IS 'one row per queue: the settings its jobs live by';
