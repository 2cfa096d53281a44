-- The first job of each key has failed, and is tried again in an hour.
UPDATE pgboss.job
   SET state = 'retry', retry_count = 1, start_after = now() + interval '1 h'
 WHERE id IN (SELECT DISTINCT ON (singleton_key) id FROM pgboss.job ORDER BY singleton_key, created_on, id);
