-- The database of the consumers test: sources, queues and handlers, and what the handlers must make of the sources.

CREATE EXTENSION pgq_ext;

-- Leases and pauses are short, so that much goes wrong in little time.
SELECT pgq_create_queue('fast', max_attempts => 8, lease => '300 ms', backoff => '5 ms', max_backoff => '40 ms');
SELECT pgq_create_queue('slow', max_attempts => 4, lease => '200 ms', backoff => '10 ms', max_backoff => '60 ms');

CREATE TABLE orders (id bigserial PRIMARY KEY, k text, p int NOT NULL, body text);
CREATE TABLE parcels (id bigserial, region int, k text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE parcels_0 PARTITION OF parcels FOR VALUES IN (0);
CREATE TABLE parcels_1 PARTITION OF parcels FOR VALUES IN (1);

SELECT pgq_create_handler('bill', 'orders', serialization_key => 'k', priority => 'p', queue => 'fast');
SELECT pgq_create_handler('audit', 'orders', serialization_key => $$lower(k) || '!'$$, filter => 'p < 3',
                          args => $$jsonb_build_object('id', id)$$, queue => 'slow');
SELECT pgq_create_handler('mail', 'orders', filter => 'p = 1', queue => 'fast');
SELECT pgq_create_handler('ship', 'parcels', serialization_key => 'k', queue => 'slow');

-- Jobs that producers made themselves, written beside each in its transaction.
CREATE TABLE enqueued (job_id bigint, handler text, k text, p int, run_at timestamptz);

-- Business writes, each in the transaction that completes its job.
CREATE TABLE effects (job_id bigint, attempt int);

-- Sources and enqueued jobs are numbered as in model::Source.
CREATE VIEW expected AS
    SELECT 'bill' AS handler, 0 AS source, id, k, p, true AS placed FROM orders
    UNION ALL SELECT 'audit', 0, id, lower(k) || '!', 0, true FROM orders WHERE p < 3
    UNION ALL SELECT 'mail', 0, id, NULL, 0, true FROM orders WHERE p = 1
    UNION ALL SELECT 'ship', 1, id, k, 0, true FROM parcels
    UNION ALL SELECT handler, 2, job_id, k, p, run_at IS NULL FROM enqueued;

CREATE VIEW made AS
    SELECT *, CASE WHEN args ? 'enqueued' THEN 2 WHEN handler = 'ship' THEN 1 ELSE 0 END AS source,
           CASE WHEN args ? 'enqueued' THEN job_id ELSE (args->>'id')::bigint END AS id
      FROM pgq_jobs;
