-- Statements of the random workload, as text for \gexec, for a source in the shape that it has now. None when it is gone.

-- Columns that can be given a value, in order.
CREATE FUNCTION w.columns(t text) RETURNS TABLE (name text, type text) LANGUAGE sql STABLE AS $$
    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
     WHERE attrelid = t::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = '' AND attname <> 'id'
     ORDER BY attnum $$;

CREATE FUNCTION w.column_list(t text) RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT string_agg(quote_ident(name), ', ') FROM w.columns(t) $$;

-- A value for each of them, as a list of literals. What is unique is NULL where the row is to be repeated.
CREATE FUNCTION w.values(t text, seed int, repeated boolean DEFAULT false) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT string_agg(CASE WHEN name IN ('k', 'key') THEN format('%L::text', (ARRAY['a', 'b', 'Zoë', '', NULL, repeat('key', 500)])[1 + h % 6])
                           WHEN name = 'u' THEN format('%L::int', CASE WHEN h % 3 = 0 AND NOT repeated THEN h / 3 % 500 END)
                           WHEN name = 'part' THEN (h % 8)::text
                           WHEN name = 'n' THEN (h % 20)::text
                           WHEN name = 's' THEN h::text
                           ELSE coalesce(w.literal(type, h), format('NULL::%s', type)) END, ', ')
      FROM (SELECT name, type, w.hash(seed, name) FROM w.columns(t)) x (name, type, h) $$;

CREATE FUNCTION w.insert(no int, seed int, rows int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('INSERT INTO %s (%s) VALUES %s', t, w.column_list(t), string_agg('(' || w.values(t, seed + i) || ')', ', '))
      FROM w.name(no) t, generate_series(1, rows) i WHERE t IS NOT NULL GROUP BY t $$;

CREATE FUNCTION w.insert_select(no int, seed int, rows int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('INSERT INTO %s (%s) SELECT v.* FROM generate_series(1, %s) i, LATERAL (SELECT %s) v', t, w.column_list(t), rows, w.values(t, seed, true))
      FROM w.name(no) t WHERE t IS NOT NULL $$;

-- COPY by a file of the server, in two statements.
CREATE FUNCTION w.copy(no int, seed int, rows int, options text) RETURNS TABLE (write text, read text) LANGUAGE sql STABLE AS $$
    SELECT format('COPY (SELECT v.* FROM (%s) v, generate_series(1, %s)) TO %L (%s)', string_agg('SELECT ' || w.values(t, seed + i, true), ' UNION ALL '),
                  greatest(1, rows / 5), file, replace(options, ', FREEZE', '')),
           format('COPY %s (%s) FROM %L (%s)', t, w.column_list(t), file, CASE WHEN EXISTS (SELECT FROM pg_class WHERE oid = t::regclass AND relkind = 'p') THEN replace(options, ', FREEZE', '') ELSE options END)
      FROM w.name(no) t, format('%s/copy_%s', current_setting('data_directory'), pg_backend_pid()) file, generate_series(1, least(rows, 5)) i
     WHERE t IS NOT NULL GROUP BY t, file $$;

CREATE FUNCTION w.on_conflict(no int, seed int, action text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('INSERT INTO %s AS t (u, n, part) SELECT i, i %% 20, i %% 8 FROM generate_series(%s, %s) i ON CONFLICT %s', t, seed % 20, seed % 20 + 3,
                  CASE WHEN action = 'NOTHING' OR kind NOT IN ('plain', 'child') THEN 'DO NOTHING' ELSE '(u) DO UPDATE SET n = t.n + 1' END)
      FROM w.name(no) t, w.source s WHERE s.no = on_conflict.no AND t IS NOT NULL $$;

-- The name of a source whose rows may be changed.
CREATE FUNCTION w.name_of_changed(no int) RETURNS text LANGUAGE sql STABLE AS
    $$ SELECT w.name(s.no) FROM w.source s WHERE s.no = name_of_changed.no AND kind <> 'bare' $$;

CREATE FUNCTION w.merge(no int, seed int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('MERGE INTO %s t USING (SELECT i AS u FROM generate_series(%s, %s) i) v ON t.u = v.u '
                  'WHEN MATCHED AND v.u %% 4 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT (u, n, part) VALUES (v.u, 7, v.u %% 8)',
                  t, seed % 30, seed % 30 + 4)
      FROM w.name_of_changed(no) t WHERE t IS NOT NULL $$;

-- UPDATE and DELETE of a part of the rows; a new part moves a row to another partition.
CREATE FUNCTION w.modify(no int, seed int, what text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format(CASE what WHEN 'update' THEN 'UPDATE %s SET n = n + 1 WHERE id %% 7 = %s' WHEN 'move' THEN 'UPDATE %s SET part = (part + 2) %% 8 WHERE id %% 7 = %s'
                            WHEN 'delete' THEN 'DELETE FROM %s WHERE id %% 7 = %s' WHEN 'truncate' THEN 'TRUNCATE %s' END, t, seed % 7)
      FROM w.name_of_changed(no) t WHERE t IS NOT NULL $$;

-- One statement that inserts into two sources.
CREATE FUNCTION w.insert_both(no int, other int, seed int) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('WITH i AS (INSERT INTO %s (%s) VALUES (%s) RETURNING n) INSERT INTO %s (n, part) SELECT n, n %% 8 FROM i',
                  t, w.column_list(t), w.values(t, seed), o)
      FROM w.name(no) t, w.name(other) o WHERE t IS NOT NULL AND o IS NOT NULL $$;

-- Inserts in so many subtransactions; of three one fails, and one is nested.
CREATE FUNCTION w.subtransactions(no int, seed int, n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF w.name(no) IS NULL THEN
        RETURN;
    END IF;
    FOR i IN 1 .. n LOOP
        BEGIN
            EXECUTE w.insert(no, seed + i, 1);
            IF i % 3 = 0 THEN
                RAISE EXCEPTION 'undone';
            ELSIF i % 3 = 1 THEN
                BEGIN
                    EXECUTE w.insert(no, seed - i, 1);
                    PERFORM 1 / (i % 2);
                EXCEPTION WHEN division_by_zero THEN
                END;
            END IF;
        EXCEPTION WHEN raise_exception OR unique_violation THEN
        END;
    END LOOP;
END $$;
