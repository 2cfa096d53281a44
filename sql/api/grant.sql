-- Granting: which role may do what, by four words. EXECUTE on the functions and SELECT on the views are all there is to
-- it, and may as well be granted by hand; by hand is for all queues.
--
--   produce     pgq_enqueue. (An INSERT into a source needs no right of ours.)
--   work        pgq_dequeue, pgq_next, pgq_complete, pgq_fail, pgq_extend, pgq_release; with queue: only jobs of that queue
--   monitor     the views pgq_jobs, pgq_queues, pgq_handlers, pgq_event_errors, pgq_enqueuer, which show the rows of all
--               sources, whatever the reader may see of these; pgq_enqueuer_status, pgq_check, pgq_sync
--   administer  pgq_create_queue, pgq_alter_queue, pgq_drop_queue; pgq_create_handler, pgq_alter_handler, pgq_drop_handler
--               (of the role's own handlers, over sources that it may SELECT from); pgq_cancel, pgq_retry,
--               pgq_retry_event, pgq_adopt_jobs
--
-- No word includes another. Each includes USAGE on the extension's schema. Granting itself is for the owner of the
-- extension and superusers, and can't be granted: EXECUTE on pgq_grant gives nothing.
--
-- Arguments: role   who; not NULL
--            what   one of the four words; not NULL
--            queue  only with 'work': jobs of this queue alone; NULL: of all queues
-- Errors: 22004 role or what NULL; 22023 another word, or queue with another word than 'work'; 42704 unknown role or
-- queue; 42501 the caller does not own the extension; 25006 in a read-only transaction or on a standby.
-- Locks: those of GRANT; with queue, its row FOR KEY SHARE.

-- pgq_grant: does nothing that is done already. 'work' without a queue lifts the limits of a role that had single queues;
-- with a queue it does not limit a role that may work all, and says so in a notice.
CREATE FUNCTION @extschema@.pgq_grant(role regrole, what text, queue text DEFAULT NULL) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'pgq_ext_grant';
COMMENT ON FUNCTION @extschema@.pgq_grant IS
    'let a role produce, work (all queues, or one), monitor or administer';

-- pgq_revoke: takes back what pgq_grant gave, or what was granted by hand. Does nothing where there is nothing to take.
-- 'work' without a queue takes all; with the last of its queues a role loses the right to call the functions. USAGE on
-- the schema goes when the role has been granted nothing else that is in it.
-- More errors: 55000 'work' of one queue is to be taken from a role that may work all.
CREATE FUNCTION @extschema@.pgq_revoke(role regrole, what text, queue text DEFAULT NULL) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'pgq_ext_revoke';
COMMENT ON FUNCTION @extschema@.pgq_revoke IS 'take from a role what pgq_grant gave';
