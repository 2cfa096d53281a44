# Ten million jobs through a queue of steady depth, in tenths: neither speed nor size may change. PGQ_BENCH_SCALE=0.1 makes
# it one million. Autovacuum looks every ten seconds, as doc/operations.md advises for so many jobs a second.
use strict;
use warnings;
use List::Util qw(max);
use Bench::Enqueuer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $tenth = Bench::Results::scaled(1_000_000);
my $depth = Bench::Results::scaled(100_000);
my $server = Bench::Server->start('with', extension => 1, conf => "autovacuum_naptime = 10s\n");
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('steady', 1);

sub megabytes
{
    my ($function) = @_;
    return $server->sql("SELECT $function('pgq_job') / 1048576.0");
}

# As many events come as jobs are done; none is old when it is claimed.
sub run_tenth
{
    my ($n) = @_;
    my $producer = $server->start_client(\my $out, 'psql', '-XqAt', '-c', 'SET synchronous_commit = off', '-c',
        "CALL fill($tenth, \$\$'k' || i\$\$)");
    my $result = $pgq->work(jobs => $tenth, seconds => 3600);
    $producer->finish or die 'the producer failed';
    Bench::Enqueuer::sync($server);
    $results->sample("tenth $n", 'throughput', 'jobs/s', $result->{rate});
    $results->sample("tenth $n", 'table', 'MB', megabytes('pg_table_size'));
    $results->sample("tenth $n", 'indexes', 'MB', megabytes('pg_indexes_size'));
}

$pgq->setup->fill($depth, q{'k' || i});
run_tenth($_) foreach 1 .. 10;
$results->check_ratio('throughput: last tenth of the first', 'tenth 10/throughput', 'tenth 1/throughput', 'at least', 0.9);
# The first half brings the table to the size at which vacuum holds it; from then on it must not grow.
foreach my $what ('table', 'indexes')
{
    my @sizes = map { $results->median_of("tenth $_/$what") } 1 .. 10;
    $results->check("$what: largest after a tenth of the second half, of that of the first", max(@sizes[ 5 .. 9 ]) / max(@sizes[ 0 .. 4 ]),
        'at most', 1.1);
}
$results->finish;
$server->stop;
