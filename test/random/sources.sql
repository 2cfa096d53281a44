-- Sources of the random workload, what is known about them, and what was inserted into them.
CREATE SEQUENCE w.ids;                  -- of rows, over all sources
CREATE SEQUENCE w.numbers;              -- of changes of tables and handlers
CREATE TABLE w.source (no int PRIMARY KEY, relid oid, kind text);

-- How tables have changed, in numbers that rise within a table: a column was added (value: its default), dropped, renamed
-- (value: the new name), or retyped (value: the type); or nothing but what is kept. A change of a table and of its family has
-- one number. kept: the columns for which the server keeps the default that rows have which are older than the column.
CREATE TABLE w.shape (no int, relid oid, change text, name text, value jsonb, kept text[]);

-- Definitions of handlers. The row is written by the transaction that creates or drops the handler, and so shows the border
-- in the stream.
CREATE TABLE w.border (id int DEFAULT nextval('w.numbers'), handler text, relid oid, form text, begins boolean);

-- The rows that were inserted, as they were then: holder is the table it was inserted into, tables are that one and those it
-- was a partition of.
CREATE TABLE w.inserted (id bigint PRIMARY KEY, holder oid, tables oid[], shape int, k text, n int, "row" jsonb);

-- Former partitions, and where they were.
CREATE TABLE w.detached (relid oid, parent oid, bound text);

-- Jobs that were asked for by pgq_enqueue.
CREATE TABLE w.direct (id bigint);

-- The table, its partitions and those that inherit from it.
CREATE FUNCTION w.family(root oid) RETURNS SETOF oid LANGUAGE sql STABLE AS $$
    WITH RECURSIVE family AS (SELECT root AS relid UNION SELECT inhrelid FROM family JOIN pg_inherits ON inhparent = relid)
    SELECT relid FROM family $$;

-- The table and those that it is a partition of.
CREATE FUNCTION w.tables(relid oid) RETURNS oid[] LANGUAGE sql STABLE AS
    $$ SELECT array_agg(t) FROM (SELECT relid UNION SELECT a::oid FROM pg_partition_ancestors(relid) a) x (t) $$;

-- How the column that was created with that name is called after change number upto.
CREATE FUNCTION w.name_at(rel oid, created text, upto int) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    change w.shape;
BEGIN
    FOR change IN SELECT * FROM w.shape s WHERE s.relid = rel AND s.change = 'rename' AND no <= upto ORDER BY no LOOP
        IF change.name = created THEN
            created := change.value #>> '{}';
        END IF;
    END LOOP;
    RETURN created;
END $$;

-- Keeps a row as it was inserted. A row that is known comes again when an UPDATE moves it to another partition.
CREATE FUNCTION w.remember() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    now int := (SELECT coalesce(max(no), 0) FROM w.shape WHERE relid = ANY (w.tables(tg_relid)));
    r jsonb := to_jsonb(new);
BEGIN
    INSERT INTO w.inserted VALUES (new.id, tg_relid, w.tables(tg_relid), now, r ->> w.name_at(tg_relid, 'k', now), (r ->> 'n')::int, r)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION w.watch(relid oid) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE format('CREATE TRIGGER remember AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION w.remember()', relid::regclass);
    -- Of a partitioned table, the partitions' triggers have to be told one by one.
    PERFORM w.always(f) FROM w.family(relid) f;
END $$;

CREATE FUNCTION w.always(relid oid) RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER remember', relid::regclass); END $$;

CREATE FUNCTION w.change_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    new.n := new.n + 1;
    RETURN CASE WHEN new.n % 5 > 0 THEN new END;
END $$;

-- Rows give rise to rows of another source.
CREATE FUNCTION w.cascade() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    target text := w.name(tg_argv[0]::int);
BEGIN
    IF new.id % 4 = 0 AND target IS NOT NULL AND pg_trigger_depth() < 3 THEN
        EXECUTE format('INSERT INTO %s (n, part) VALUES (3, 3)', target);
    END IF;
    RETURN NULL;
END $$;

-- The table's name now; NULL when it is gone.
CREATE FUNCTION w.name(source_no int) RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT c.oid::regclass::text FROM w.source JOIN pg_class c ON c.oid = relid WHERE no = source_no $$;

-- Makes a source with columns of those types. Kinds: plain, bare (nothing but the server's own work happens to it), child
-- (inherits from the parent), range, list, hash, tree.
CREATE FUNCTION w.create_source(no int, kind text, types text[], seed int, parent int DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t text := 'w.s' || no;
    partitioned boolean := kind IN ('range', 'list', 'hash', 'tree');
    columns text := 'hole int, id bigint NOT NULL DEFAULT nextval(''w.ids''), k text, u int, part int NOT NULL DEFAULT 0, hole2 text, n int NOT NULL DEFAULT 5';
BEGIN
    SELECT columns || coalesce(string_agg(format(', c%s %s', i, type), '' ORDER BY i), '') INTO columns FROM unnest(types) WITH ORDINALITY x (type, i);
    IF seed % 2 = 0 THEN
        columns := columns || ', g text GENERATED ALWAYS AS (upper(k) || n) STORED';
    END IF;
    IF seed % 3 = 0 AND NOT partitioned THEN
        columns := columns || ', s int GENERATED ALWAYS AS IDENTITY';
    END IF;
    IF kind = 'child' THEN
        EXECUTE format('CREATE TABLE %s (own int[]) INHERITS (%s)', t, w.name(parent));
        IF EXISTS (SELECT FROM w.columns(t) WHERE name = 's') THEN -- what is an identity is not inherited
            EXECUTE format('ALTER TABLE %s ALTER COLUMN s SET DEFAULT 0', t);
        END IF;
    ELSE
        EXECUTE format('CREATE TABLE %s (%s) %s', t, columns, CASE kind WHEN 'range' THEN 'PARTITION BY RANGE (part)' WHEN 'hash' THEN 'PARTITION BY HASH (part)'
                                                                    WHEN 'list' THEN 'PARTITION BY LIST (part)' WHEN 'tree' THEN 'PARTITION BY LIST (part)' ELSE '' END);
        EXECUTE format('ALTER TABLE %s DROP COLUMN hole, DROP COLUMN hole2', t);
    END IF;
    INSERT INTO w.source VALUES (no, t::regclass, kind);
    IF partitioned THEN
        PERFORM w.create_partition(t, kind, i) FROM generate_series(0, 3) i;
    ELSE
        EXECUTE format('CREATE UNIQUE INDEX ON %s (u)', t);
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', t, (ARRAY['DEFAULT', 'FULL', 'NOTHING'])[1 + seed % 3]);
    END IF;
    IF kind <> 'bare' THEN
        PERFORM w.watch(t::regclass);
    END IF;
END $$;

-- Partition i of four. The second was a table before, with a hole and its columns in another order.
CREATE FUNCTION w.create_partition(t text, kind text, i int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p text := t || '_p' || i;
    bound text := CASE kind WHEN 'range' THEN format('FROM (%s) TO (%s)', 2 * i, 2 * i + 2) WHEN 'hash' THEN format('WITH (MODULUS 4, REMAINDER %s)', i)
                            ELSE format('IN (%s, %s)', 2 * i, 2 * i + 1) END;
BEGIN
    IF i = 1 THEN
        EXECUTE format('CREATE TABLE %1$s (hole text, LIKE %2$s INCLUDING DEFAULTS INCLUDING GENERATED)', p, t);
        EXECUTE format('ALTER TABLE %s DROP COLUMN hole, DROP COLUMN n CASCADE, ADD COLUMN n int NOT NULL DEFAULT 5', p);
        IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = t::regclass AND attname = 'g') THEN
            EXECUTE format('ALTER TABLE %s ADD COLUMN g text GENERATED ALWAYS AS (upper(k) || n) STORED', p);
        END IF;
        EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES %s', t, p, bound);
    ELSIF kind = 'tree' AND i = 2 THEN
        EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES %s PARTITION BY RANGE (n)', p, t, bound);
        EXECUTE format('CREATE TABLE %1$s_low PARTITION OF %1$s FOR VALUES FROM (MINVALUE) TO (10)', p);
        EXECUTE format('CREATE TABLE %1$s_high PARTITION OF %1$s FOR VALUES FROM (10) TO (MAXVALUE)', p);
    ELSE
        EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES %s', p, t, bound);
    END IF;
END $$;

-- Defines a handler in one of four forms, or drops it: see w.expected.
CREATE FUNCTION w.create_handler(name text, relid regclass, form text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k text := (SELECT attname FROM pg_attribute WHERE attrelid = create_handler.relid AND attname IN ('k', 'key'));
BEGIN
    INSERT INTO w.border (handler, relid, form, begins) VALUES (name, relid, form, true);
    CASE form
        WHEN 'row' THEN PERFORM pgq_create_handler(name, relid);
        WHEN 'keyed' THEN PERFORM pgq_create_handler(name, relid, k, 'id % 3 <> 0', 'id % 5');
        WHEN 'picked' THEN PERFORM pgq_create_handler(name, relid, 'n % 3', 'n > 2', args => format('jsonb_build_object(''id'', id, ''k'', %I, ''n'', n)', k));
        WHEN 'column' THEN PERFORM pgq_create_handler(name, relid, args => 'jsonb_build_object(''id'', id, ''c'', c1)');
    END CASE;
END $$;

CREATE FUNCTION w.drop_handler(name text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO w.border (handler, begins) VALUES (name, false);
    SELECT pgq_drop_handler(name) $$;
