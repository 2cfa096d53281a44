-- Who may work single queues. pgq_grant and pgq_revoke write it; the functions for workers read it, for a caller whose
-- right to call them comes from roles alone that are limited.
--
-- A role is limited when it has been granted USAGE on the domain below. That is told by a privilege and not by rows, so
-- that rows that get lost (a dump of the schema alone, a queue that is dropped) take rights away and never give more. A
-- role is kept as regrole: it follows when the role is renamed, and a dump has its name. The rows of dropped roles have
-- no name any more; they give nobody anything, and a dump leaves them out, as their number may be somebody else's
-- elsewhere.

CREATE TABLE @extschema@.pgq_queue_worker (
    queue text COLLATE "C" NOT NULL,
    role  regrole NOT NULL,
    PRIMARY KEY (queue, role)
);
COMMENT ON TABLE @extschema@.pgq_queue_worker IS 'which roles may work which queue, of those that may not work all';

CREATE DOMAIN @extschema@.pgq_limited_worker AS boolean;
COMMENT ON DOMAIN @extschema@.pgq_limited_worker IS
    'USAGE on it marks a role that may work only the queues which pgq_queue_worker names';
