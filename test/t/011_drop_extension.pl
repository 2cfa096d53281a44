# DROP EXTENSION takes the enqueuer and its slot along, but only when it commits.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('drop_extension');
$node->safe_psql('postgres', 'CREATE DATABASE second');
foreach my $database ('postgres', 'second')
{
    $node->safe_psql($database, 'CREATE EXTENSION pgq_ext');
    $node->safe_psql($database, 'SELECT pgq_sync()');
}
is($node->slots, 'postgres second', 'each database has a slot');

my $pid = $node->enqueuer('postgres');
$node->safe_psql('postgres', 'BEGIN; DROP EXTENSION pgq_ext; ROLLBACK');
$node->safe_psql('postgres', 'SELECT pgq_sync()');
is($node->enqueuer('postgres'), $pid, 'a DROP that is rolled back leaves the enqueuer where it is');
is($node->slots, 'postgres second', 'and its slot');

# While it is being dropped in an open transaction the enqueuer must not wait for it for ever, nor hinder it.
my $dropping = $node->background_psql('postgres');
$dropping->query_safe('BEGIN; DROP EXTENSION pgq_ext');
$dropping->query_safe('COMMIT');
$dropping->quit;
$node->await_enqueuers('second');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'postgres'}),
    'after the commit enqueuer and slot are gone');

my $other = $node->enqueuer('second');
$node->safe_psql('second', 'SELECT pgq_sync()');
$node->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');
$node->safe_psql('postgres', 'SELECT pgq_sync()');
pass('created again it works again');

# Stopped meanwhile, the old enqueuer learns of DROP and CREATE at once. It must not serve the new extension with what
# it knows of the old one, and its end must not take the new one's place in the launcher's books.
$pid = $node->enqueuer('postgres');
kill 'STOP', $pid;
$node->safe_psql('postgres', 'DROP EXTENSION pgq_ext; CREATE EXTENSION pgq_ext');
$node->create_events('postgres');
$node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('first')});
kill 'CONT', $pid;
isnt($node->enqueuer('postgres', $pid), $pid, 'a new extension has a new enqueuer');
is($node->events_and_jobs('postgres'), '1|1|1', 'which converts');
$node->safe_psql('postgres', 'DROP TABLE ev CASCADE');

foreach my $round (1 .. 5)
{
    $node->safe_psql('postgres', 'DROP EXTENSION pgq_ext CASCADE; CREATE EXTENSION pgq_ext');
    $node->create_events('postgres');
    $node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('again')});
    is($node->events_and_jobs('postgres'), '1|1|1', "round $round");
    $node->safe_psql('postgres', 'DROP TABLE ev CASCADE');
    $node->safe_psql('postgres', 'BEGIN; DROP EXTENSION pgq_ext CASCADE; CREATE EXTENSION pgq_ext; COMMIT; SELECT pgq_sync()');
}
is($node->enqueuer('second'), $other, 'the other database never noticed');

$node->safe_psql('postgres', 'DROP EXTENSION pgq_ext');
$node->await_enqueuers('second');
$node->restart;
$node->safe_psql('second', 'SELECT pgq_sync()');
$node->await_enqueuers('second');
is($node->slots, 'second', 'nothing comes back after a restart');

$node->log_is_clean;
PgqNode::done();
