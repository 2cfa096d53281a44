-- What should have become of the random workload, and how it differs from what did. The order of commits and of inserts is
-- test_decoding's, the values are those that triggers saw; what the extension made is only compared with it.

-- The stream as test_decoding shows it: each insert of a row with an id, with the number of its transaction.
CREATE TABLE w.decoded (ord int, commit int, relation text, id bigint);

CREATE FUNCTION w.decode(slot name) RETURNS void LANGUAGE sql AS $$
    INSERT INTO w.decoded
    SELECT ord, commit, substring(data FROM '^table ([^:]+): INSERT: '), substring(data FROM ' id\[(?:bigint|integer)\]:(\d+)')::bigint
      FROM (SELECT ord, data, count(*) FILTER (WHERE data LIKE 'BEGIN %') OVER (ORDER BY ord) AS commit
              FROM pg_logical_slot_get_changes(slot, NULL, NULL, 'include-xids', '1', 'skip-empty-xacts', '1')
                   WITH ORDINALITY x (lsn, xid, data, ord)) c
     WHERE data ~ '^table w[.][^:]+: INSERT: ' $$;

-- Rows of a table to which nothing happened are all that was ever inserted into it.
CREATE FUNCTION w.remember_bare() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s w.source;
BEGIN
    FOR s IN SELECT * FROM w.source WHERE kind = 'bare' LOOP
        EXECUTE format('INSERT INTO w.inserted SELECT id, $1, ARRAY[$1], 0, k, n, to_jsonb(t) FROM %s t', s.relid::regclass) USING s.relid;
    END LOOP;
END $$;

-- The row after one more change of its table. NULL: it can't be converted, so that an event error is right.
CREATE FUNCTION w.reshape(r jsonb, change w.shape) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    value jsonb;
BEGIN
    CASE change.change
        WHEN 'drop' THEN RETURN r - change.name;
        WHEN 'rename' THEN RETURN (r - change.name) || jsonb_build_object(change.value #>> '{}', r -> change.name);
        WHEN 'retype' THEN
            IF r -> change.name = 'null' THEN
                RETURN r;
            END IF;
            EXECUTE format('SELECT to_jsonb(%L::%s)', r ->> change.name, change.value #>> '{}') INTO value;
            RETURN r || jsonb_build_object(change.name, value);
    END CASE;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    RETURN NULL;
END $$;

-- The row in each shape that the table rel has had since change number since. In columns that were added it has their default,
-- where the server keeps that with the holder and this is, or is a partition of, rel; else NULL.
CREATE FUNCTION w.shapes(r jsonb, rel oid, holder oid, since int) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
    change w.shape;
    kept text[];
    added jsonb := '{}'; -- with their defaults
BEGIN
    RETURN NEXT r;
    FOR change IN SELECT * FROM w.shape WHERE relid = rel AND no > since ORDER BY no LOOP
        IF change.change = 'add' THEN
            added := added || jsonb_build_object(change.name, change.value);
        ELSIF NOT added ? change.name AND change.change <> 'none' THEN
            r := w.reshape(r, change);
        ELSIF change.change IN ('rename', 'drop') THEN -- a default that is kept is not converted
            added := w.reshape(added, change);
        END IF;
        kept := coalesce((SELECT s.kept FROM w.shape s WHERE s.relid = holder AND s.no = change.no), '{}');
        RETURN NEXT r || (SELECT coalesce(jsonb_object_agg(key, CASE WHEN key = ANY (kept) THEN value END), '{}') FROM jsonb_each(added));
    END LOOP;
END $$;

-- Each event of each handler, in the order of the stream. relid: the handler's source. wanted: the filter lets it through.
CREATE TABLE w.expected (handler text, form text, relid oid, ord int, commit int, id bigint, holder oid, shape int, k text, n int, "row" jsonb, wanted boolean);

CREATE FUNCTION w.expect() RETURNS void LANGUAGE sql AS $$
    SELECT w.note_kept(relid) FROM w.source;
    WITH first AS (SELECT DISTINCT ON (id) * FROM w.decoded WHERE relation NOT IN ('w.border', 'w.direct', 'w.inserted') ORDER BY id, ord),
         at AS (SELECT b.*, d.commit FROM w.border b JOIN w.decoded d ON d.id = b.id AND d.relation = 'w.border'),
         handler AS (SELECT b.handler, b.relid, b.form, b.commit AS since, coalesce(e.commit, 2147483647) AS until
                       FROM at b LEFT JOIN at e ON e.handler = b.handler AND NOT e.begins WHERE b.begins)
    INSERT INTO w.expected
    SELECT h.handler, h.form, h.relid, f.ord, f.commit, i.id, i.holder, i.shape, i.k, i.n, i.row,
           CASE h.form WHEN 'keyed' THEN i.id % 3 <> 0 WHEN 'picked' THEN i.n > 2 ELSE true END
      FROM first f JOIN w.inserted i USING (id) JOIN handler h ON h.relid = ANY (i.tables) AND f.commit > h.since AND f.commit <= h.until
    UNION ALL
    SELECT 'direct', 'direct', NULL, ord, commit, id, NULL, NULL, NULL, NULL, NULL, true FROM w.decoded WHERE relation = 'w.direct' $$;

-- What the extension has made: jobs, and event errors (no position).
CREATE TABLE w.made (handler text, id bigint, position bigint, error_id bigint, k text, priority int, args jsonb, error text);

CREATE FUNCTION w.collect() RETURNS void LANGUAGE sql AS $$
    INSERT INTO w.made SELECT handler, (args ->> 'id')::bigint, position, NULL, serialization_key, priority, args, NULL FROM pgq_jobs
    UNION ALL SELECT handler, (event ->> 'id')::bigint, NULL, error_id, NULL, NULL, NULL, sqlstate || ' ' || error FROM pgq_event_errors;
    CREATE INDEX ON w.made (handler, id);
    CREATE INDEX ON w.expected (handler, id);
    ANALYZE w.made, w.expected $$;

-- Whether that is the job of the event.
CREATE FUNCTION w.is_right(e w.expected, m w.made) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE e.form
        WHEN 'row' THEN m.k IS NULL AND m.priority = 0 AND EXISTS (SELECT FROM w.shapes(e.row, e.relid, e.holder, e.shape) s WHERE s = m.args)
        WHEN 'keyed' THEN m.k IS NOT DISTINCT FROM e.k AND m.priority = e.id % 5 AND EXISTS (SELECT FROM w.shapes(e.row, e.relid, e.holder, e.shape) s WHERE s = m.args)
        WHEN 'picked' THEN m.k = (e.n % 3)::text AND m.args = jsonb_build_object('id', e.id, 'k', e.k, 'n', e.n)
        WHEN 'column' THEN m.args = jsonb_build_object('id', e.id, 'c', e.row -> w.name_at(e.relid, 'c1', e.shape))
        ELSE true END $$;

-- An event error is right for a row that does not fit its table any more, and where the source or what the handler uses is gone.
CREATE FUNCTION w.may_fail(e w.expected) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (SELECT FROM pg_class WHERE oid = e.relid) OR EXISTS (SELECT FROM pgq_handlers h WHERE h.handler = e.handler AND orphaned)
        OR EXISTS (SELECT FROM w.shapes(e.row, e.relid, e.holder, e.shape) s WHERE s IS NULL) $$;

-- The differences; none when all is well.
CREATE FUNCTION w.differences() RETURNS TABLE (what text, handler text, id bigint, detail text) LANGUAGE sql AS $$
    SELECT 'oracles differ: ' || CASE WHEN d.id IS NULL THEN 'not decoded' ELSE 'not in the table' END, coalesce(relation, tables::text), coalesce(i.id, d.id), NULL
      FROM w.inserted i FULL JOIN (SELECT * FROM w.decoded WHERE relation ~ '^w[.]s[0-9]') d USING (id) WHERE i.id IS NULL OR d.id IS NULL
    UNION ALL
    SELECT CASE WHEN m.handler IS NULL THEN 'lost' ELSE 'unwanted' END, coalesce(e.handler, m.handler), coalesce(e.id, m.id), coalesce(e.row, m.args)::text
      FROM w.expected e FULL JOIN w.made m ON m.handler = e.handler AND m.id = e.id
     WHERE e.handler IS NULL OR (m.handler IS NULL AND e.wanted) OR (NOT e.wanted AND m.error IS NULL AND m.handler IS NOT NULL)
    UNION ALL
    SELECT 'doubled', m.handler, m.id, count(*)::text FROM w.made m GROUP BY 2, 3 HAVING count(*) > 1
    UNION ALL
    SELECT 'out of order', x.handler, x.id, NULL
      FROM (SELECT m.handler, m.id, ord < lag(ord) OVER (PARTITION BY position IS NULL ORDER BY position, error_id) AS wrong
              FROM w.made m JOIN w.expected e ON e.handler = m.handler AND e.id = m.id) x WHERE wrong
    UNION ALL
    SELECT 'wrong value', m.handler, m.id, format('%s %s %s instead of %s %s', m.k, m.priority, m.args, e.k, e.row)
      FROM w.made m JOIN w.expected e ON e.handler = m.handler AND e.id = m.id WHERE position IS NOT NULL AND NOT w.is_right(e, m)
    UNION ALL
    SELECT 'unjustified error', m.handler, m.id, m.error
      FROM w.made m JOIN w.expected e ON e.handler = m.handler AND e.id = m.id WHERE m.error IS NOT NULL AND NOT w.may_fail(e)
    UNION ALL
    SELECT 'broken rule', violation, job_id, c.detail FROM pgq_check() c $$;
