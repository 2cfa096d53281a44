# What pgq_grant gave survives a dump: on a server where roles have other numbers each has what it had, and nobody more,
# also where the dump is only of the schema, or where a role is gone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $old = PgqNode->create('old');
my $new = PgqNode->create('new');
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', 'CREATE SCHEMA q; CREATE EXTENSION pgq_ext SCHEMA q');
$old->safe_psql('app', 'CREATE ROLE one; CREATE ROLE "Two ""2"""; CREATE ROLE general; CREATE ROLE gone; CREATE ROLE hand');
$old->safe_psql('app', q{SELECT q.pgq_create_queue('a'), q.pgq_create_queue('b')});
$old->safe_psql('app', q{SELECT q.pgq_grant('one', 'work', 'a'), q.pgq_grant('"Two ""2"""', 'work', 'b'), q.pgq_grant('general', 'work'),
    q.pgq_grant('gone', 'work', 'a'), q.pgq_grant('general', 'monitor'), q.pgq_grant('one', 'produce')});
$old->safe_psql('app', 'GRANT USAGE ON SCHEMA q TO hand; GRANT EXECUTE ON FUNCTION q.pgq_dequeue TO hand');
$old->safe_psql('app', 'DROP OWNED BY gone; DROP ROLE gone');

# In another order: the numbers that roles have there are other roles' here.
$new->safe_psql('postgres', 'CREATE ROLE hand; CREATE ROLE general; CREATE ROLE "Two ""2"""; CREATE ROLE one; CREATE ROLE stranger');
foreach my $what ('whole', 'schema')
{
    my $dump = "$PostgreSQL::Test::Utils::tmp_check/$what.sql";
    my @only = $what eq 'schema' ? ('--schema-only') : ();
    command_ok([ 'pg_dump', @only, '-f', $dump, '-d', $old->connstr('app') ], "the $what can be dumped");
    $new->safe_psql('postgres', "CREATE DATABASE $what");
    command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $new->connstr($what) ], 'and restored');
}

# Which queues the role may work: those of whose dequeue it is not refused.
sub queues
{
    my ($node, $database, $role) = @_;
    my @may;
    foreach my $queue ('a', 'b', 'default')
    {
        my $state = '';
        $node->psql($database, qq{SET ROLE "$role"; SELECT count(*) FROM q.pgq_dequeue(1, '$queue')}, stderr => \$state);
        push @may, $queue unless $state =~ /permission denied/;
    }
    return join ' ', @may;
}

my @roles = (['one', 'a', ''], ['Two ""2""', 'b', ''], ['general', 'a b default', 'a b default'], ['hand', 'a b default', 'a b default']);
foreach (@roles)
{
    my ($role, $whole, $schema) = @$_;
    is(queues($old, 'app', $role), $whole, "$role, before");
    is(queues($new, 'whole', $role), $whole, "$role, after");
    is(queues($new, 'schema', $role), $schema, "$role, after a dump of the schema: not more");
}
is(queues($new, 'whole', 'stranger'), '', 'a role that has a number of theirs has nothing');
is($new->safe_psql('whole', 'SELECT queue, role FROM q.pgq_queue_worker ORDER BY queue'), qq{a|one\nb|"Two ""2"""}, 'nor is there a row of the role that is gone');
is($new->safe_psql('whole', q{SET ROLE one; SELECT q.pgq_enqueue('h', '1') > 0}), 't', 'produce is kept');
is($new->safe_psql('whole', q{SET ROLE general; SELECT count(*) FROM q.pgq_queues}), '3', 'monitor is kept');
PgqNode::done();
