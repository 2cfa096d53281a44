# An enqueuer is there whenever it should be: after CREATE EXTENSION, restarts, crashes, and the loss of a process.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('lifecycle');
my $events = 0;

# Adds an event to each database, and checks that all so far have become jobs.
sub all_convert
{
    my ($when) = @_;
    $events++;
    foreach my $database ('postgres', 'second')
    {
        $node->safe_psql($database, "INSERT INTO ev(k) VALUES ('$events')");
        is($node->events_and_jobs($database), "$events|$events|$events", "$when: $database converts");
    }
}

$node->await_enqueuers();
$node->processes_are('pgq_ext launcher', 'without the extension there is a launcher only');

$node->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');
$node->safe_psql('postgres', 'SELECT pgq_sync()');
my $first = $node->enqueuer('postgres');
$node->processes_are('pgq_ext enqueuer postgres, pgq_ext launcher', 'CREATE EXTENSION brings an enqueuer');

$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', 'BEGIN; CREATE EXTENSION pgq_ext; ROLLBACK');
$node->safe_psql('second', 'CREATE EXTENSION pgq_ext');
$node->create_events($_) foreach ('postgres', 'second');
all_convert('at first');
isnt($node->enqueuer('second'), $first, 'each database has its own enqueuer');

$node->safe_psql('postgres', 'CREATE DATABASE third');
$node->safe_psql('third', q{BEGIN; CREATE EXTENSION pgq_ext; PREPARE TRANSACTION 'created'});
$node->safe_psql('third', q{COMMIT PREPARED 'created'});
$node->safe_psql('third', 'SELECT pgq_sync()');
pass('COMMIT PREPARED of CREATE EXTENSION brings an enqueuer too');
$node->safe_psql('postgres', 'DROP DATABASE third');

my $all = 'pgq_ext enqueuer postgres, pgq_ext enqueuer second, pgq_ext launcher';
foreach my $mode ('fast', 'immediate')
{
    $node->stop($mode);
    $node->start;
    all_convert("after a stop that is $mode");
    $node->processes_are($all, "all are back after a stop that is $mode");
}

my $pid = $node->enqueuer('postgres');
my $other = $node->enqueuer('second');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$pid = $node->enqueuer('postgres', $pid);
all_convert('after termination');
is($node->enqueuer('second'), $other, 'terminating an enqueuer brings a new one, and leaves the other alone');
isnt($node->safe_psql('postgres', 'SELECT last_error FROM pgq_enqueuer WHERE last_error_at IS NOT NULL'),
    '', 'the view says that it ended early');

# A new launcher adopts the enqueuers it finds, and supervises them.
my $launcher = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pgq_ext launcher'};
my $old_launcher = $node->safe_psql('postgres', $launcher);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($old_launcher)");
$node->poll_query_until('postgres', "SELECT EXISTS ($launcher AND pid <> $old_launcher)");
is($node->enqueuer('postgres'), $pid, 'a new launcher leaves a running enqueuer alone');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$pid = $node->enqueuer('postgres', $pid);
pass('and starts it again when it ends');

# Nothing of ours keeps the server from stopping; pg_ctl would give up, and the test with it.
$node->stop('fast');
pass('a fast stop ends');
$node->start;
$node->log_is_clean;

# A killed process takes the server through crash recovery, and all is back without a hand. Its end is in the log.
$pid = $node->enqueuer('postgres');
kill 'KILL', $pid;
$node->wait_for_log(qr/all server processes terminated; reinitializing/);
$node->enqueuer('postgres', $pid);
all_convert('after SIGKILL');
$node->processes_are($all, 'all are back after SIGKILL');
PgqNode::done();
