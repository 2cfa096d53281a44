-- n jobs with the keys that the expression key gives for i = 1 .. n, behind those that are there. They go the whole way.
SET synchronous_commit = off;
CALL fill(:n, :'key');
SELECT pgq_sync('1 h');
