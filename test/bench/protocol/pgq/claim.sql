SELECT * FROM pgq_dequeue({batch})
