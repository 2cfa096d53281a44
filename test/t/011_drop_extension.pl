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

# The old enqueuer may notice the DROP before or after the new extension is there.
foreach my $round (1 .. 5)
{
    $node->safe_psql('postgres', 'DROP EXTENSION pgq_ext; CREATE EXTENSION pgq_ext; SELECT pgq_sync()');
    $node->safe_psql('postgres', 'BEGIN; DROP EXTENSION pgq_ext; CREATE EXTENSION pgq_ext; COMMIT; SELECT pgq_sync()');
}
pass('dropped and created in one go it works at once');
is($node->enqueuer('second'), $other, 'the other database never noticed');

$node->safe_psql('postgres', 'DROP EXTENSION pgq_ext');
$node->await_enqueuers('second');
$node->restart;
$node->safe_psql('second', 'SELECT pgq_sync()');
$node->await_enqueuers('second');
is($node->slots, 'second', 'nothing comes back after a restart');

$node->log_is_clean;
$node->stop;
done_testing();
