-- Changes of tables in the random workload. Each is noted where its transaction can see it, so that what becomes of rows on
-- their way can be told.

-- The server's catalog says for which columns it keeps a default: whether a statement rewrote a table can't be told from the
-- statement.
CREATE FUNCTION w.kept(rel oid) RETURNS text[] LANGUAGE sql STABLE AS
    $$ SELECT coalesce(array_agg(attname::text ORDER BY attnum), '{}') FROM pg_attribute WHERE attrelid = rel AND atthasmissing $$;

CREATE FUNCTION w.note_change(root oid, change text, name text, value jsonb) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO w.shape SELECT no, relid, change, name, value, w.kept(relid) FROM nextval('w.numbers') no, w.family(root) relid $$;

-- Notes what VACUUM FULL and CLUSTER have done, which can't note it themselves. To be called before each change, with the
-- table locked, and at the end: in between, nothing depends on when it was.
CREATE FUNCTION w.note_kept(root oid) RETURNS void LANGUAGE sql AS $$
    SELECT w.note_change(root, 'none', NULL, NULL)
     WHERE EXISTS (SELECT FROM w.family(root) rel WHERE w.kept(rel) <> coalesce((SELECT kept FROM w.shape WHERE relid = rel ORDER BY no DESC LIMIT 1), '{}')) $$;

-- A column that may be changed: one of those that were made for it.
CREATE FUNCTION w.some_column(t text, seed int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT attname FROM pg_attribute
     WHERE attrelid = t::regclass AND attnum > 0 AND NOT attisdropped AND attname ~ '^[car][0-9]+$' AND attinhcount = 0
     ORDER BY w.hash(seed, attname) LIMIT 1 $$;

CREATE FUNCTION w.add_column(t text, seed int, how text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    type text := (SELECT s.type FROM w.specimen s ORDER BY w.hash(seed, s.type) LIMIT 1);
    name text := 'a' || nextval('w.numbers');
    literal text := w.literal(type, 6 * seed + 1); -- not NULL
    value jsonb;
BEGIN
    IF how = 'constant' THEN
        EXECUTE format('ALTER TABLE %s ADD COLUMN %s %s DEFAULT %s', t, name, type, literal);
        EXECUTE format('SELECT to_jsonb(%s)', literal) INTO value;
    ELSIF how = 'volatile' THEN
        EXECUTE format('ALTER TABLE %s ADD COLUMN %s float8 DEFAULT random()', t, name);
    ELSE
        EXECUTE format('ALTER TABLE %s ADD COLUMN %s %s', t, name, type);
    END IF;
    PERFORM w.note_change(t::regclass, 'add', name, value);
END $$;

CREATE FUNCTION w.rename_column(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old text := w.some_column(t, seed);
    new text := 'r' || nextval('w.numbers');
BEGIN
    IF seed % 3 = 0 THEN
        old := (SELECT attname FROM pg_attribute WHERE attrelid = t::regclass AND attname IN ('k', 'key'));
        new := CASE old WHEN 'k' THEN 'key' ELSE 'k' END;
    END IF;
    IF old IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE %s RENAME COLUMN %s TO %s', t, old, new);
    PERFORM w.note_change(t::regclass, 'rename', old, to_jsonb(new));
END $$;

-- Through the text form, as values on their way go.
CREATE FUNCTION w.retype_column(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    col text := w.some_column(t, seed);
    old text := (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = t::regclass AND attname = col);
    new text := CASE WHEN old IN ('smallint', 'integer') THEN (ARRAY['bigint', 'numeric', 'text'])[1 + seed % 3]
                     WHEN old IN ('bigint', 'uuid', 'numeric', 'text', 'w.mood', 'w.short') THEN (ARRAY['text', 'character varying'])[1 + seed % 2]
                     WHEN old = 'character varying(20)' THEN 'w.short' END;
BEGIN
    IF new IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %2$s TYPE %s USING %2$s::text::%3$s', t, col, new);
        PERFORM w.note_change(t::regclass, 'retype', col, to_jsonb(new));
    END IF;
END $$;

CREATE FUNCTION w.drop_column(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := w.some_column(t, seed);
BEGIN
    IF name IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE %s DROP COLUMN %s %s', t, name, CASE WHEN seed % 10 = 0 THEN 'CASCADE' END);
    PERFORM w.note_change(t::regclass, 'drop', name, NULL);
END $$;

CREATE FUNCTION w.change(no int, seed int, what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t text := w.name(no);
    source w.source := (SELECT s FROM w.source s WHERE s.no = change.no);
BEGIN
    IF t IS NULL OR source.kind = 'bare' THEN
        RETURN;
    END IF;
    EXECUTE format('LOCK TABLE %s', t);
    PERFORM w.note_kept(t::regclass);
    CASE what
        WHEN 'add constant' THEN PERFORM w.add_column(t, seed, 'constant');
        WHEN 'add volatile' THEN PERFORM w.add_column(t, seed, 'volatile');
        WHEN 'add' THEN PERFORM w.add_column(t, seed, 'null');
        WHEN 'rename' THEN PERFORM w.rename_column(t, seed);
        WHEN 'retype' THEN PERFORM w.retype_column(t, seed);
        WHEN 'drop' THEN PERFORM w.drop_column(t, seed);
        WHEN 'rename table' THEN EXECUTE format('ALTER TABLE %s RENAME TO s%s_%s', t, no, nextval('w.numbers'));
        WHEN 'storage' THEN PERFORM w.set_storage(t);
        WHEN 'trigger' THEN PERFORM w.add_trigger(t, source, seed);
        WHEN 'drop table' THEN EXECUTE format('DROP TABLE %s CASCADE', t);
        WHEN 'detach' THEN PERFORM w.detach(t, seed);
        WHEN 'attach' THEN PERFORM w.attach(t, no, source.kind);
        WHEN 'drop partition' THEN PERFORM w.drop_partition(t, seed);
    END CASE;
END $$;

CREATE FUNCTION w.set_storage(t text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = t::regclass AND attnum > 0 AND NOT attisdropped AND attstorage = 'x' LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', t, name);
    END LOOP;
END $$;

-- A trigger that changes and suppresses rows; or one that inserts into another source.
CREATE FUNCTION w.add_trigger(t text, source w.source, seed int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF seed % 2 = 0 AND source.kind IN ('plain', 'child') THEN
        EXECUTE format('CREATE OR REPLACE TRIGGER change_row BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION w.change_row()', t);
    ELSE
        EXECUTE format('CREATE OR REPLACE TRIGGER cascade AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION w.cascade(%s)', t, seed % 5);
    END IF;
END $$;

CREATE FUNCTION w.some_partition(t text, seed int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT inhrelid::regclass::text FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
     WHERE inhparent = t::regclass AND c.relispartition ORDER BY w.hash(seed, inhrelid::text) LIMIT 1 $$;

-- A table that was a partition goes on as a source of its own, until it is attached again.
CREATE FUNCTION w.detach(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p text := w.some_partition(t, seed);
    bound text;
BEGIN
    IF p IS NOT NULL THEN
        SELECT pg_get_expr(relpartbound, oid) INTO bound FROM pg_class WHERE oid = p::regclass;
        EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', t, p);
        PERFORM w.note_change(t::regclass, 'none', NULL, NULL); -- of the rows that came by it, nothing is kept any more
        INSERT INTO w.detached VALUES (p::regclass, t::regclass, bound);
        INSERT INTO w.source VALUES (1000 + nextval('w.numbers'), p::regclass, 'detached');
        PERFORM w.watch(p::regclass);
    END IF;
END $$;

-- Attaches what was detached, or else a new table. Either has rows that are no events.
CREATE FUNCTION w.attach(t text, no int, kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d w.detached := (SELECT d FROM w.detached d JOIN pg_class c ON c.oid = relid WHERE parent = t::regclass ORDER BY relid LIMIT 1);
    part int := 8 + nextval('w.numbers');
    p text := coalesce(d.relid::regclass::text, format('w.s%s_n%s', no, part));
BEGIN
    IF d IS NULL AND kind NOT IN ('range', 'list', 'tree') THEN
        RETURN;
    ELSIF d IS NULL THEN
        EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING GENERATED)', p, t);
        d.bound := format(CASE kind WHEN 'range' THEN 'FOR VALUES FROM (%1$s) TO (%1$s + 1)' ELSE 'FOR VALUES IN (%s)' END, part);
        PERFORM w.watch(p::regclass);
        EXECUTE format('INSERT INTO %s (part) VALUES (%s)', p, part);
    END IF;
    EXECUTE format('DROP TRIGGER remember ON %s', p);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s %s', t, p, d.bound);
    PERFORM w.note_change(t::regclass, 'none', NULL, NULL);
    PERFORM w.always(p::regclass);
    DELETE FROM w.detached WHERE relid = p::regclass;
    DELETE FROM w.source WHERE relid = p::regclass;
    IF d.relid IS NULL THEN
        EXECUTE format('INSERT INTO %s (part) VALUES (%s)', p, part);
    END IF;
END $$;

CREATE FUNCTION w.drop_partition(t text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p text := w.some_partition(t, seed);
BEGIN
    IF p IS NOT NULL THEN
        EXECUTE format('DROP TABLE %s CASCADE', p);
        PERFORM w.note_change(t::regclass, 'none', NULL, NULL);
    END IF;
END $$;
