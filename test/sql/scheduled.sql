-- Jobs with run_at become due by themselves, on a server where nothing else happens.
CREATE EXTENSION pgq_ext;
SELECT pgq_create_queue('later');

-- A time that nobody else's lease or retry is near. With a deadline: one that never comes must not hang the test.
CREATE FUNCTION is_placed(job bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    WHILE clock_timestamp() < statement_timestamp() + interval '30 s' LOOP
        IF (SELECT position IS NOT NULL FROM pgq_jobs WHERE job_id = job) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

SELECT pgq_enqueue('work', '1', 'key', 'later', run_at => clock_timestamp() + '3 s') AS scheduled \gset
SELECT pgq_sync();
SELECT status, position FROM pgq_jobs WHERE job_id = :scheduled;
SELECT args FROM pgq_dequeue(1, 'later'); -- not due yet
SELECT is_placed(:scheduled);
SELECT args, serialization_key FROM pgq_dequeue(1, 'later');

-- It takes its place in its key when it becomes due: behind what was enqueued meanwhile.
SELECT pgq_enqueue('work', '2', 'key', 'later', run_at => clock_timestamp() + '300 ms') AS scheduled \gset
SELECT pgq_enqueue('work', '3', 'key', 'later') > 0;
SELECT is_placed(:scheduled);
SELECT args, position IS NOT NULL AS placed FROM pgq_jobs ORDER BY position;
SELECT * FROM pgq_check();
DROP FUNCTION is_placed;
DROP EXTENSION pgq_ext;
