# What is left of the speed when a transaction is open all the while that many jobs go through, so that no dead row can be
# removed.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $through = Bench::Results::scaled(500_000);
my $jobs = Bench::Results::scaled(40_000);
my $server = Bench::Server->start('with', extension => 1);
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('horizon', 3);

# A transaction with a snapshot and an id.
my $open_transaction = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current(); SELECT pg_sleep(86400)';

sub measure
{
    my ($name, $held) = @_;
    return sub {
        $pgq->setup;
        my $transaction = $held ? $server->start_session($open_transaction) : undef;
        $pgq->fill($through + 3 * $jobs, q{'k' || i});
        my $result = $pgq->work(jobs => $through, seconds => 600);
        $results->sample('jobs that go through', $name, 'jobs/s', $result->{rate});
        $result = $pgq->work(jobs => $jobs, seconds => 60);
        $results->sample('then batches of 50', $name, 'jobs/s', $result->{rate});
        $result = $pgq->work(clients => 8, batch => 1, seconds => 5);
        $results->sample('then single jobs', $name, 'jobs/s', $result->{rate});
        $server->end_session($transaction) if $held;
    };
}

$results->rounds(measure('held', 1), measure('not held', 0));
$results->check_ratio("$_: transaction held open, of none", "then $_/held", "then $_/not held", 'at least', 0.9)
  foreach 'batches of 50', 'single jobs';
$results->finish;
$server->stop;
