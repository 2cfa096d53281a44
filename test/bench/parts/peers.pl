# Two other queues for PostgreSQL against ours and the floor, on the same jobs: each by its own library and by its SQL.
use strict;
use warnings;
use Bench::Peer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(100_000);
my $seconds = 8; # a peer that is slower than that is stopped
my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('peers', 3);
my $pgq = Bench::Subject->new($with, 'pgq');
my $floor = Bench::Subject->new($without, 'floor');

my %title = (graphile => 'graphile-worker', pgboss => 'pg-boss');
my %fill = (
    'distinct keys' => sub { $_[0]->fill($jobs * 1.1, q{'k' || i}) },
    'no key' => sub { $_[0]->fill($jobs * 1.1, 'NULL') },
    '1,000 keys' => sub { $_[0]->fill($jobs * 3, q{'k' || i % 1000}) },
    'keys in retry-wait in front' => sub { $_[0]->fill(1000 * 101, q{'r' || i % 1000})->delay->fill($jobs * 1.1, q{'k' || i}) },
    'hot key in front' => sub { $_[0]->fill(Bench::Results::scaled(50_000), q{'hot'})->fill($jobs * 1.1, q{'k' || i}) });

sub measure
{
    my ($scenario, $subject, $batch) = @_;
    return sub {
        my $name = $subject->name . ($batch ? " $batch" : '');
        $fill{$scenario}->($subject->setup);
        my $result = $subject->work(batch => $batch || 50, jobs => $jobs, seconds => $seconds);
        $results->sample($scenario, $name, 'jobs/s', $result->{rate});
    };
}

# By its SQL in batches of 50, and by its library. A keyed graphile-worker claims single jobs, as it must: its batches break
# the order of keys, and are let pass where its SQL is measured.
sub measure_peer
{
    my ($scenario, $name, $processes) = @_;
    my $kind = $scenario eq 'no key' ? 'plain' : 'keyed';
    my $peer = Bench::Peer->new($without, $name, $kind, 50);
    return (
        sub {
            $fill{$scenario}->($peer->setup);
            my $result = $peer->work(batch => 50, jobs => $jobs, seconds => $seconds);
            $results->sample($scenario, "$title{$name}: SQL", 'jobs/s', $result->{rate});
        },
        sub {
            $fill{$scenario}->($peer->setup);
            $results->sample($scenario, "$title{$name}: library", 'jobs/s', $peer->work_by_library($processes, $seconds, $jobs));
        });
}

my @keyed = ('distinct keys', '1,000 keys', 'hot key in front', 'keys in retry-wait in front');
$results->rounds(
    measure('distinct keys', $floor),
    measure('no key', $pgq), measure('no key', $pgq, 500),
    (map { measure($_, $pgq) } @keyed),
    map { my $scenario = $_; (measure_peer($scenario, 'graphile', 4), measure_peer($scenario, 'pgboss', 2)) } 'no key', @keyed);

# Ours against the best that a peer does, by its SQL in batches of 50 or by its library.
sub check_ahead
{
    my ($scenario, $ours, $least) = @_;
    foreach my $peer (sort values %title)
    {
        my ($best) = sort { $results->median_of($b) <=> $results->median_of($a) } map { "$scenario/$peer: $_" } 'SQL', 'library';
        $results->check_ratio("$scenario: $ours, of the better of $peer", "$scenario/$ours", $best, 'at least', $least);
    }
    return;
}

$results->check_ratio('no key: pgq, of graphile-worker\'s SQL', 'no key/pgq', 'no key/graphile-worker: SQL', 'at least', 1);
check_ahead('no key', 'pgq 500', 1);
check_ahead('distinct keys', 'pgq', 1);
check_ahead('keys in retry-wait in front', 'pgq', 1);
check_ahead('1,000 keys', 'pgq', 3);
check_ahead('hot key in front', 'pgq', 10);
$results->finish;
$_->stop foreach $with, $without;
