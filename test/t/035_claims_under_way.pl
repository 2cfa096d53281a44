# What becomes claimable while another claim is under way, after it has looked and before it moves the marks, is handed out next.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqFaults;
use PsqlSession;

my $node = PgqFaults->create('under_way');
my $sql = sub { return $node->safe_psql('postgres', @_) };
my $holder = PsqlSession->new($node->connstr('postgres'));
my $queues = 0;

sub claim
{
    my ($n) = @_;
    return "SELECT args FROM pgq_dequeue($n, 'q$queues', '1 h')";
}

sub enqueue
{
    my ($n, @more) = @_;
    return "SELECT pgq_enqueue(" . join(', ', "'work'", "'$n'", "queue => 'q$queues'", @more) . ')';
}

# Of six jobs the first, which has a key, is in a worker's hands, and the second waits for it. The third and the fourth are in
# the hands of a transaction that is open, when a claim is stopped that has found the fifth. meanwhile happens; then come
# those of next.
sub under_way
{
    my ($what, $meanwhile, @next) = @_;
    $queues++;
    $sql->("SELECT pgq_create_queue('q$queues')");
    $sql->(enqueue($_, $_ <= 2 ? "serialization_key => 'k$queues'" : ())) foreach 1 .. 6;
    $sql->('SELECT pgq_sync()');
    $sql->(claim(1));
    $holder->query('BEGIN; ' . claim(2));
    my $claimer = PsqlSession->new($node->connstr('postgres'));
    $node->set_fault('after_claim', 'wait');
    $claimer->send(claim(1));
    $node->await_fault('after_claim');
    $meanwhile->();
    $node->go('after_claim');
    $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pgq_jobs WHERE queue = 'q$queues' AND args = '5' AND status = 'in_progress'");
    $claimer->quit;
    return is(join(' ', map { $sql->(claim(1)) } @next, 'nothing'), "@next ", $what);
}

$sql->('CREATE EXTENSION pgq_ext');
under_way('nothing', sub { $holder->query('COMMIT') }, 6);
under_way('what a rollback gives back', sub { $holder->query('ROLLBACK') }, 3, 4, 6);
under_way('what a prepared transaction gives back', sub { $holder->query(q{PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'}) }, 3, 4, 6);
under_way('what is promoted',
    sub { $holder->query('COMMIT'); $sql->("SELECT pgq_complete(job_id, 1) FROM pgq_jobs WHERE queue = 'q$queues' AND args = '1'") }, 2, 6);
under_way('what is released',
    sub { $holder->query('COMMIT'); $sql->("SELECT pgq_release(job_id, 1) FROM pgq_jobs WHERE queue = 'q$queues' AND args = '3'") }, 3, 6);
under_way('what is more urgent, and what is less',
    sub { $holder->query('COMMIT'); $sql->(enqueue(7, "priority => $_")) foreach 1, -1; $sql->('SELECT pgq_sync()') }, 7, 6, 7);
$holder->quit;
PgqNode::done();
