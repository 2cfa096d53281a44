-- Lets all that can be claimed fail, to be tried again in an hour.
SELECT count(pgq_fail(job_id, attempt, 'later', '1 h')) FROM pgq_dequeue(1000000);
