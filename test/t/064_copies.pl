# Copies of a database: a clone, and a dump restored into the same and into another cluster. Old rows make no jobs, new
# ones do, and a job that was live runs in the original only, until an operator says that the copy has taken over.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('original');
my $live = q{status IN ('pending', 'in_progress')};

# Jobs in every state, two of them in one key.
$node->safe_psql('postgres', q{
    CREATE ROLE "O'wner";
    CREATE EXTENSION pgq_ext;
    SELECT pgq_alter_queue('default', max_attempts => 2, lease => '77 s'), pgq_create_queue('second', lease => '1 h');
    CREATE SCHEMA "my app";
    GRANT USAGE ON SCHEMA "my app" TO "O'wner";
    CREATE TABLE "my app"."Ev" (id serial PRIMARY KEY, k text, n int);
    GRANT SELECT ON "my app"."Ev" TO "O'wner";
    SELECT pgq_grant('"O''wner"', 'administer');
    SET ROLE "O'wner";
    SELECT pgq_create_handler('ev', '"my app"."Ev"', serialization_key => 'k', filter => 'id > 0', priority => 'n % 2',
                              args => $$to_jsonb("Ev") || '{"x": "''"}'$$, queue => 'second');
    SELECT pgq_create_handler('gone', '"my app"."Ev"', filter => 'false');
    SELECT pgq_drop_handler('gone');
    RESET ROLE;
    SELECT pgq_create_handler('raising', '"my app"."Ev"', args => 'jsonb_build_object(''x'', 1 / (n - 3))')});
$node->safe_psql('postgres', q{
    INSERT INTO "my app"."Ev" (k, n) VALUES ('a', 1), ('a', 2), ('b', 3), (NULL, 4);
    SELECT pgq_enqueue('direct', '{"due": "now"}', 'c', idempotency_key => 'once');
    SELECT pgq_enqueue('direct', '{"due": "later"}', 'c', run_at => '2200-01-01');
    SELECT pgq_sync('60 s')});
$node->safe_psql('postgres', q{
    SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(1, 'second');
    SELECT pgq_fail(job_id, attempt, 'for a while', '1 h') FROM pgq_dequeue(1, 'second');
    SELECT pgq_fail(job_id, attempt, 'once', '1 us') FROM pgq_dequeue(1);
    SELECT pgq_sync('60 s')});
$node->poll_query_until('postgres', q{SELECT count(pgq_fail(job_id, attempt, 'for good')) = 1 FROM pgq_dequeue(1)
    WHERE attempt = 2}) or die 'no second attempt';
$node->safe_psql('postgres', q{SELECT * FROM pgq_dequeue(1)});

my $handlers = q{SELECT handler, source, queue, serialization_key, filter, priority, args, owner, orphaned FROM pgq_handlers
    ORDER BY handler};
my $queues = q{SELECT queue, max_attempts, lease, backoff, max_backoff FROM pgq_queues ORDER BY queue};
my $jobs = q{SELECT job_id, queue, handler, serialization_key, priority, attempt, failures, args, last_error, finished_at,
    replace(status, 'in_progress', 'pending') FROM pgq_jobs ORDER BY job_id};
my $errors = q{SELECT error_id, handler, source, event, sqlstate, error FROM pgq_event_errors ORDER BY error_id};
my %original = map { $_ => $node->safe_psql('postgres', $_) } $handlers, $queues, $jobs, $errors;
my $nlive = $node->safe_psql('postgres', "SELECT count(*) FROM pgq_jobs WHERE $live");
cmp_ok($nlive, '>=', 5, 'the original has live jobs');
my $last_id = $node->safe_psql('postgres', 'SELECT max(job_id) FROM pgq_jobs');

# All that a worker gets, of any queue.
sub dequeued
{
    my ($server, $database) = @_;
    return $server->safe_psql($database, q{SELECT string_agg(format('%s %s', handler, args ->> 'n'), ', ' ORDER BY d.job_id)
        FROM unnest(ARRAY['default', 'second']) q, pgq_dequeue(100, q) d});
}

# What is the same in every copy.
sub check_copy
{
    my ($server, $database, $kind) = @_;
    is($server->safe_psql($database, $_), $original{$_}, "$kind: the same from " . (/FROM (\w+)/)[0])
      foreach $handlers, $queues, $jobs, $errors;
    is(dequeued($server, $database), '', "$kind: no job is handed out");
    return;
}

# A copy takes up work: new rows first, then what was live, in its order.
sub check_work
{
    my ($server, $database, $kind) = @_;
    $server->safe_psql($database, q{INSERT INTO "my app"."Ev" (k, n) VALUES ('a', 10); SELECT pgq_sync('60 s')});
    is(dequeued($server, $database), 'ev 10, raising ', "$kind: a new row makes jobs, and only they are handed out");
    cmp_ok($server->safe_psql($database, "SELECT min(job_id) FROM pgq_jobs WHERE args ->> 'n' = '10'"),
        '>', $last_id, "$kind: ids go on");
    is($server->safe_psql($database, q{SELECT pgq_enqueue('direct', '{}', idempotency_key => 'once') <= } . $last_id), 't',
        "$kind: an idempotency key is known");
    is($server->safe_psql($database, 'SELECT pgq_adopt_jobs()'), $nlive, "$kind: the live jobs are adopted");
    $server->safe_psql($database, q{SELECT pgq_sync('60 s')});
    is($server->safe_psql($database, q{SELECT string_agg(args ->> 'n', ' ' ORDER BY position) FROM pgq_jobs
        WHERE handler = 'ev' AND serialization_key = 'a' AND finished_at IS NULL}), '10 1 2', "$kind: at the end of their keys");
    is($server->safe_psql($database, q{SELECT count(*) FROM pgq_jobs WHERE visible_at = '2200-01-01' AND position IS NULL}), 1,
        "$kind: what is scheduled stays so");
    is($server->safe_psql($database, "SELECT every(pgq_cancel(job_id)) FROM pgq_jobs WHERE $live"), 't', "$kind: and can be cancelled");
    is($server->safe_psql($database, 'SELECT * FROM pgq_check()'), '', "$kind: pgq_check finds nothing");
    return;
}

# A clone. Without our library there is no enqueuer; pgq_dequeue must see by itself that the jobs are not the clone's.
$node->safe_psql('postgres', 'CREATE DATABASE clone TEMPLATE postgres');
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE second_clone TEMPLATE postgres');
is(dequeued($node, 'second_clone'), '', 'clone without an enqueuer: no job is handed out');
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pgq_ext'");
$node->start;
foreach my $clone ('clone', 'second_clone')
{
    $node->enqueuer($clone);
    check_copy($node, $clone, $clone);
    check_work($node, $clone, $clone);
    like(slurp_file($node->logfile), qr/WARNING:  database "$clone" was copied: $nlive live jobs of it are held/, 'and it was said');
}

# Dumps.
my $other = PgqNode->create('other');
$other->safe_psql('postgres', q{CREATE ROLE "O'wner"});
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
command_ok([ 'pg_dump', '-Fd', '-j2', '-f', $dump, '-d', $node->connstr('postgres') ], 'pg_dump');
foreach my $server ($node, $other)
{
    my $kind = 'restored in ' . $server->name;
    $server->safe_psql('postgres', 'CREATE DATABASE restored');
    command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', $server->connstr('restored'), $dump ], $kind);
    $server->safe_psql('restored', q{SELECT pgq_sync('60 s')});
    check_copy($server, 'restored', $kind);
    $server->safe_psql('restored', q{INSERT INTO "my app"."Ev" (k, n) VALUES ('a', 9); SELECT pgq_sync('60 s')});
    is(dequeued($server, 'restored'), '', "$kind: handlers apply to nothing before they are adopted");
    is($server->safe_psql('restored', 'SELECT pgq_adopt_handlers()'), 2, "$kind: the handlers are adopted");
    check_work($server, 'restored', $kind);
    is($server->safe_psql('restored', $handlers), $original{$handlers}, "$kind: they are as they were");
    is($server->safe_psql('restored', 'SELECT count(*) = count(DISTINCT position), min(position) > 0 FROM pgq_jobs WHERE position IS NOT NULL'),
        't|t', "$kind: positions go on where they were");
    $server->safe_psql('restored', 'DROP EXTENSION pgq_ext');
    is($server->safe_psql('restored', q{SELECT relname FROM pg_class WHERE relname LIKE 'pgq%'}), '',
        "$kind: and go with the extension");
}

# A held job can be cancelled, or retried by itself.
$node->safe_psql('postgres', 'CREATE DATABASE third_clone TEMPLATE postgres');
$node->enqueuer('third_clone');
my $held = $node->safe_psql('third_clone', "SELECT array_agg(job_id ORDER BY job_id) FROM pgq_jobs WHERE $live");
is($node->safe_psql('third_clone', "SELECT pgq_cancel(('$held'::bigint[])[1]), pgq_retry(('$held'::bigint[])[2])"), 't|t',
    'a held job can be cancelled, or retried by itself');
$node->safe_psql('third_clone', q{SELECT pgq_sync('60 s')});
is($node->safe_psql('third_clone', 'SELECT pgq_adopt_jobs()'), $nlive - 2, 'and is not held then');

# Nothing of all that has touched the original.
is($node->safe_psql('postgres', $_), $original{$_}, 'the original is as it was') foreach $handlers, $queues, $errors;
is($node->safe_psql('postgres', "SELECT count(*) FROM pgq_jobs WHERE $live"), $nlive, 'with its live jobs');
$_->log_is_clean foreach $node, $other;
PgqNode::done();
