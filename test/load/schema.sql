-- A mixed load that can say what must have become of it: sources, handlers, procedures for producers, workers and
-- operators, and views that compare what was committed with what was made of it. See test/t/PgqLoad.pm.

CREATE EXTENSION pgq_ext;
SELECT pgq_create_queue('fast', max_attempts => 4, lease => '1 s', backoff => '5 ms', max_backoff => '20 ms');

-- Who inserts events of a key counts here first, and keeps the row locked until the commit: n rises in commit order,
-- whatever crashes in between and whatever becomes of the WAL.
CREATE TABLE clock (k text PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 20);
INSERT INTO clock SELECT 'k' || i, 0 FROM generate_series(0, 5) i;
CREATE FUNCTION tick(key text) RETURNS bigint LANGUAGE sql AS 'UPDATE clock SET n = n + 1 WHERE k = key RETURNING n';

CREATE TABLE ev (id bigserial PRIMARY KEY, k text, n bigint, p int DEFAULT (random() * 3)::int, body text);
CREATE TABLE region (id bigserial, r int, k text, n bigint) PARTITION BY LIST (r);
CREATE TABLE region_0 PARTITION OF region FOR VALUES IN (0);
CREATE TABLE region_1 PARTITION OF region FOR VALUES IN (1);
-- Of these two, one is altered all the time, and the other truncated; what is truncated is kept in gone.
CREATE TABLE shape (id bigserial PRIMARY KEY, k text DEFAULT 'k' || (random() * 3)::int, p int DEFAULT 1);
CREATE TABLE short (id bigserial, k text);
CREATE TABLE gone (id bigint);
CREATE TABLE bulk (id bigserial PRIMARY KEY, k text, n bigint); -- by large transactions
CREATE TABLE direct (job_id bigint);          -- beside each pgq_enqueue, in its transaction
CREATE TABLE span (since bigint, until bigint); -- where in the clock of k0 the handler 'brief' applied
CREATE TABLE effect (seq bigserial, job_id bigint, handler text, k text, n bigint); -- beside each pgq_complete

SELECT pgq_create_handler('all', 'ev', serialization_key => 'k', queue => 'fast');
SELECT pgq_create_handler('odd', 'ev', serialization_key => $$k || '!'$$, filter => 'id % 2 = 1', priority => 'p',
                          args => $$jsonb_build_object('id', id, 'n', n)$$, queue => 'fast');
SELECT pgq_create_handler('raising', 'ev', args => $$jsonb_build_object('id', id, 'x', 1 / (id % 97))$$);
SELECT pgq_create_handler('changing', 'ev', args => $$jsonb_build_object('id', id, 'v', 0)$$, queue => 'fast');
SELECT pgq_create_handler('region', 'region', serialization_key => 'k', queue => 'fast');
SELECT pgq_create_handler('shape', 'shape', serialization_key => 'k', queue => 'fast');
SELECT pgq_create_handler('short', 'short');
SELECT pgq_create_handler('bulk', 'bulk', serialization_key => 'k', queue => 'fast');
SELECT pgq_create_handler('sparse', 'bulk', filter => 'id % 50 = 0', args => $$jsonb_build_object('id', id, 'x', 1 / (id % 1000))$$);

CREATE TABLE archived AS SELECT * FROM pgq_jobs WHERE false; -- what of the archive was truncated

-- --- producers -------------------------------------------------------------------------------------------------------

CREATE FUNCTION insert_events(events int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    key text := 'k' || floor(random() * 6);
BEGIN
    -- An xid first, and the key's lock later: xids are not in commit order.
    INSERT INTO short (k) VALUES (key);
    INSERT INTO shape DEFAULT VALUES;
    FOR i IN 1 .. events LOOP
        INSERT INTO ev (k, n, body) VALUES (key, tick(key), CASE WHEN random() < 0.01 THEN repeat(md5(key), 1000) END);
        BEGIN
            INSERT INTO ev (k, n) VALUES (key, tick(key));
            INSERT INTO region (r, k, n) VALUES (i % 2, key, tick(key));
            IF random() < 0.3 THEN
                RAISE EXCEPTION 'taken back';
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
    END LOOP;
    IF random() < 0.3 THEN
        INSERT INTO direct SELECT pgq_enqueue('direct', '{}', key, 'fast');
    END IF;
END $$;

CREATE PROCEDURE produce(transactions int, pause float8 DEFAULT 0.05) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. transactions LOOP
        PERFORM insert_events(1 + (random() * 3)::int);
        IF random() < 0.2 THEN
            ROLLBACK;
        ELSE
            COMMIT;
        END IF;
        PERFORM pg_sleep(pause);
    END LOOP;
END $$;

-- One large transaction, or one that nearly is.
CREATE FUNCTION insert_bulk(events int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    key text;
    last bigint;
BEGIN
    FOR i IN 0 .. 2 LOOP
        key := 'k' || i;
        UPDATE clock SET n = n + events / 3 WHERE k = key RETURNING n INTO last;
        INSERT INTO bulk (k, n) SELECT key, g FROM generate_series(last - events / 3 + 1, last) g;
    END LOOP;
END $$;

-- --- operators -------------------------------------------------------------------------------------------------------

CREATE SEQUENCE version;
CREATE PROCEDURE change_handlers(times int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. times LOOP
        PERFORM pgq_alter_handler('changing', args => format('jsonb_build_object(''id'', id, ''v'', %s)', nextval('version')));
        COMMIT;
        IF EXISTS (SELECT FROM span WHERE until IS NULL) THEN
            UPDATE span SET until = tick('k0') WHERE until IS NULL;
            PERFORM pgq_drop_handler('brief');
        ELSE
            INSERT INTO span (since) SELECT tick('k0');
            PERFORM pgq_create_handler('brief', 'ev', serialization_key => 'k', filter => 'k = ''k0''');
        END IF;
        COMMIT;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;

-- --- workers ---------------------------------------------------------------------------------------------------------

CREATE PROCEDURE finish(job jsonb, what float8) LANGUAGE plpgsql AS $$
BEGIN
    IF what < 0.04 THEN
        PERFORM pgq_fail((job ->> 'job_id')::bigint, (job ->> 'attempt')::int, 'at random');
    ELSIF what < 0.06 THEN
        PERFORM pgq_release((job ->> 'job_id')::bigint, (job ->> 'attempt')::int);
    ELSIF what > 0.07 THEN -- else it is forgotten: its lease will run out
        INSERT INTO effect (job_id, handler, k, n)
            VALUES ((job ->> 'job_id')::bigint, job ->> 'handler', job ->> 'serialization_key', (job #>> '{args,n}')::bigint);
        PERFORM pgq_complete((job ->> 'job_id')::bigint, (job ->> 'attempt')::int);
    END IF;
EXCEPTION WHEN SQLSTATE 'PQ001' THEN -- somebody else has it; the effect is rolled back
    NULL;
END $$;

-- reckless: jobs fail, are given back and forgotten, too.
CREATE PROCEDURE work(rounds int, reckless boolean DEFAULT true) LANGUAGE plpgsql AS $$
DECLARE
    jobs jsonb;
    job jsonb;
BEGIN
    FOR i IN 1 .. rounds LOOP
        SELECT coalesce(jsonb_agg(to_jsonb(d)), '[]') INTO jobs
          FROM pgq_dequeue(1 + (random() * 10)::int, CASE WHEN i % 4 = 0 THEN 'default' ELSE 'fast' END) d;
        COMMIT;
        FOR job IN SELECT jsonb_array_elements(jobs) LOOP
            CALL finish(job, CASE WHEN reckless THEN random() ELSE 1 END);
        END LOOP;
        COMMIT;
        PERFORM pg_sleep(0.02) WHERE reckless;
    END LOOP;
END $$;

-- --- what must be, and what is ---------------------------------------------------------------------------------------

CREATE VIEW expected AS
    SELECT h AS handler, e.id FROM ev e, unnest(ARRAY['all', 'raising', 'changing']) h
    UNION ALL SELECT 'odd', id FROM ev WHERE id % 2 = 1
    UNION ALL SELECT 'brief', e.id FROM ev e JOIN span s ON e.n > s.since AND (e.n < s.until OR s.until IS NULL) WHERE e.k = 'k0'
    UNION ALL SELECT 'region', id FROM region
    UNION ALL SELECT 'shape', id FROM shape
    UNION ALL SELECT 'bulk', id FROM bulk UNION ALL SELECT 'sparse', id FROM bulk WHERE id % 50 = 0
    UNION ALL SELECT 'short', id FROM short UNION ALL SELECT 'short', id FROM gone
    UNION ALL SELECT 'direct', job_id FROM direct;

CREATE VIEW made AS
    SELECT j.handler, CASE j.handler WHEN 'direct' THEN j.job_id ELSE (j.args ->> 'id')::bigint END AS id,
           j.serialization_key, (j.args ->> 'n')::bigint AS n, (j.args ->> 'v')::bigint AS v, j.position
      FROM (TABLE pgq_jobs UNION ALL TABLE archived) j
    UNION ALL SELECT handler, (event ->> 'id')::bigint, NULL, NULL, NULL, NULL FROM pgq_event_errors;

CREATE VIEW disorder AS
    SELECT 'started out of order: ' || handler AS what, id FROM (
        SELECT *, lag(n) OVER (PARTITION BY handler, serialization_key ORDER BY position) AS before
          FROM made WHERE n IS NOT NULL AND serialization_key IS NOT NULL) m WHERE n <= before
    UNION ALL SELECT 'older version', id FROM (
        SELECT *, lag(v) OVER (ORDER BY position) AS before FROM made WHERE handler = 'changing') m WHERE v < before
    UNION ALL SELECT 'finished out of order: ' || handler, job_id FROM (
        SELECT *, lag(n) OVER (PARTITION BY handler, k ORDER BY seq) AS before FROM effect WHERE n IS NOT NULL AND k IS NOT NULL) m
     WHERE n <= before
    UNION ALL SELECT 'done twice', job_id FROM effect GROUP BY job_id HAVING count(*) > 1;

-- Compares; of the events, those in the temporary table seen must all have been converted.
CREATE FUNCTION report(OUT events bigint, OUT lost bigint, OUT doubled bigint, OUT unwanted bigint, OUT disordered bigint,
                       OUT details text) LANGUAGE plpgsql AS $$
BEGIN
    -- TRUNCATE and a rewriting ALTER TABLE would hide rows from a snapshot that is older.
    LOCK TABLE short, pgq_archive, archived, gone, shape IN ACCESS SHARE MODE;
    CREATE TEMP TABLE found ON COMMIT DROP AS
        SELECT CASE WHEN e.id IS NULL THEN 'unwanted' WHEN m.n IS NULL AND s.id IS NOT NULL THEN 'lost'
                    WHEN m.n > 1 THEN 'doubled' END AS fault, handler, id
          FROM (SELECT handler, id FROM expected) e
          FULL JOIN (SELECT handler, id, count(*) AS n FROM made GROUP BY 1, 2) m USING (handler, id)
          LEFT JOIN seen s USING (handler, id)
         WHERE e.id IS NULL OR m.n > 1 OR m.n IS NULL AND s.id IS NOT NULL;
    INSERT INTO found SELECT 'disordered', d.what, d.id FROM disorder d;
    SELECT count(*) FILTER (WHERE fault = 'lost'), count(*) FILTER (WHERE fault = 'doubled'),
           count(*) FILTER (WHERE fault = 'unwanted'), count(*) FILTER (WHERE fault = 'disordered'),
           left(string_agg(format('%s %s %s', fault, handler, id), ', ' ORDER BY fault, handler, id), 1000)
      INTO lost, doubled, unwanted, disordered, details FROM found;
    SELECT count(*) INTO events FROM seen;
END $$;
