-- The extension, a captured table, and a handler whose key is a column.
CREATE EXTENSION pgq_ext;
CREATE TABLE ev (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k text);
SELECT pgq_sync('60 s');
SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k');

-- In transactions of a size that the enqueuer gets in practice, and not in one.
CREATE PROCEDURE fill(n int, key text) LANGUAGE plpgsql AS $$
BEGIN
    FOR start IN 1 .. n BY 1000 LOOP
        EXECUTE format('INSERT INTO ev (k) SELECT %s FROM generate_series($1, $2) i', key)
            USING start, least(start + 999, n);
        COMMIT;
    END LOOP;
END $$;
