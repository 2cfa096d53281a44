# Claim and complete in batches of 50 with 4 clients: the shapes of a queue that spoil a claim's speed.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(100_000);
my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('claim', 3);
my %subjects = (
    pgq => Bench::Subject->new($with, 'pgq'),
    floor => Bench::Subject->new($without, 'floor'),
    window => Bench::Subject->new($without, 'window'));

# What is in the queue, in each scenario. Behind it there is always more than is worked: no run ends in an empty queue.
my $distinct = sub { $_[0]->fill($jobs * 1.1, q{'k' || i}) };
my %fill = (
    'distinct keys' => $distinct,
    'no key' => sub { $_[0]->fill($jobs * 1.1, 'NULL') },
    '1,000 keys' => sub { $_[0]->fill(Bench::Results::scaled(300_000), q{'k' || i % 1000}) },
    'hot key in front' => sub { $distinct->($_[0]->fill(Bench::Results::scaled(50_000), q{'hot'})) },
    'keys in retry-wait in front' => sub { $distinct->($_[0]->fill(1000 * 101, q{'r' || i % 1000})->delay) });

# A way that is too slow to do all the jobs is stopped after some seconds.
sub measure
{
    my ($scenario, $name) = @_;
    return sub {
        my $subject = $subjects{$name}->setup;
        $fill{$scenario}->($subject);
        my $result = $subject->work(jobs => $jobs, seconds => $name eq 'window' ? 5 : 30);
        $results->sample($scenario, $name, 'jobs/s', $result->{rate});
    };
}

$results->rounds(
    measure('distinct keys', 'pgq'), measure('distinct keys', 'floor'), measure('distinct keys', 'window'),
    measure('no key', 'pgq'),
    measure('1,000 keys', 'pgq'), measure('1,000 keys', 'window'),
    measure('hot key in front', 'pgq'), measure('hot key in front', 'window'),
    measure('keys in retry-wait in front', 'pgq'), measure('keys in retry-wait in front', 'window'));

$results->check_ratio('distinct keys: of floor', 'distinct keys/pgq', 'distinct keys/floor', 'at least', 0.9);
$results->check_ratio('distinct keys: of window', 'distinct keys/pgq', 'distinct keys/window', 'at least', 2.0);
$results->check_ratio('no key: of floor, which has keys', 'no key/pgq', 'distinct keys/floor', 'at least', 1.0);
$results->check_ratio("$_: of distinct keys", "$_/pgq", 'distinct keys/pgq', 'at least', 0.8)
  foreach '1,000 keys', 'hot key in front', 'keys in retry-wait in front';
$results->finish;
$_->stop foreach $with, $without;
