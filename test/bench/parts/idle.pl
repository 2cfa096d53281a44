# What an idle extension costs: a minute of nothing to do.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $seconds = Bench::Results::scaled(60);
my $server = Bench::Server->start('with', extension => 1, conf => "autovacuum = off\n"); # its WAL is not ours
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('idle', 1);

# Seconds of processor time that a process has had.
sub processor_time
{
    my ($pid) = @_;
    return (split / /, Bench::Server::execute('cat', "/proc/$pid/schedstat"))[0] / 1e9;
}

sub wal_position
{
    return $server->sql(q{SELECT pg_current_wal_insert_lsn() - '0/0'});
}

# The database has been used, and the server has written what it writes about that: also about the looks that are taken at it
# below, which may tidy up a page of the catalog.
$pgq->setup->fill(1000, q{'k' || i})->work(jobs => 900);
$server->sql('CHECKPOINT');
my %pids = map { split /\|/ } split /\n/,
  $server->sql(q{SELECT replace(backend_type, 'pgq_ext ', ''), pid FROM pg_stat_activity WHERE backend_type LIKE 'pgq\_ext %'});
wal_position();
sleep 75;

$results->rounds(
    sub {
        my $wal = wal_position();
        my %before = map { $_ => processor_time($pids{$_}) } keys %pids;
        sleep $seconds;
        $results->sample('idle', $_, '% of a processor', 100 * (processor_time($pids{$_}) - $before{$_}) / $seconds)
          foreach sort keys %pids;
        $results->sample('idle', 'WAL', 'bytes', wal_position() - $wal);
    });
$results->check("processor time of the $_, %", $results->median_of("idle/$_"), 'at most', 0.1) foreach sort keys %pids;
$results->check('WAL, bytes', $results->median_of('idle/WAL'), 'at most', 0);
$results->finish;
$server->stop;
