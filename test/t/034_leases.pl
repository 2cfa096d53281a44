# Every lease runs out, also one of which the marks in shared memory don't know: its claim was prepared before a restart, or
# what it had told was forgotten before it was committed; or the worker, who is late, takes it anew.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;
use PsqlSession;

my $node = PgqNode->create('leases');
my $sql = sub { return $node->safe_psql('postgres', @_) };

sub runs_out
{
    my ($queue, $what) = @_;
    return ok($node->poll_query_until('postgres',
        "SELECT bool_and(status = 'pending' AND attempt = 1) FROM pgq_jobs WHERE queue = '$queue' AND priority = 0"), $what);
}

# All leases are looked at together: when one of those that are known has run out, so have the others been looked at.
sub await_look
{
    my ($probe) = @_;
    $sql->("SELECT pgq_create_queue('$probe'); SELECT pgq_enqueue('work', '1', queue => '$probe')");
    $sql->("SELECT pgq_sync(); SELECT count(*) FROM pgq_dequeue(1, '$probe', '1 ms')");
    return runs_out($probe, "$probe: a lease runs out");
}

$sql->('CREATE EXTENSION pgq_ext');
foreach my $queue ('prepared', 'late', 'forgotten')
{
    $sql->("SELECT pgq_create_queue('$queue'); SELECT pgq_enqueue('work', '1', queue => '$queue')");
}
$sql->(q{SELECT pgq_enqueue('work', '1', queue => 'forgotten', priority => i) FROM generate_series(1, 100) i; SELECT pgq_sync()});

$sql->(q{BEGIN; SELECT count(*) FROM pgq_dequeue(1, 'prepared', '1 ms'); PREPARE TRANSACTION 'p'});
$sql->(q{SELECT count(*) FROM pgq_dequeue(1, 'late', '1 ms')});
runs_out('late', 'the lease of a worker who is late');
$node->restart;
await_look('after the restart');
$sql->(q{COMMIT PREPARED 'p'});
runs_out('prepared', 'one of a claim that was prepared before the restart');
$sql->(q{SELECT pgq_extend(job_id, 1, '1 ms') FROM pgq_jobs WHERE queue = 'late'});
runs_out('late', 'one that the worker has extended when it had run out');

my $session = PsqlSession->new($node->connstr('postgres'));
$session->query(q{BEGIN; SELECT count(*) FROM pgq_dequeue(1, 'forgotten', '1 ms')});
$sql->(q{BEGIN; SELECT count(*) FROM pgq_dequeue(100, 'forgotten', '1 h'); ROLLBACK});
await_look('after forgetting');
$session->query('COMMIT');
runs_out('forgotten', 'one of a claim that was committed after all was forgotten');
$session->quit;

PgqNode::done();
