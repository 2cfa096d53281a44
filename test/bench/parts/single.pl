# One job a call, two commits a job: the cost of a call.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(40_000);
my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('single', 3);

sub measure
{
    my ($subject, $clients) = @_;
    return sub {
        my $result = $subject->setup->fill($jobs, q{'k' || i})->work(jobs => 0.95 * $jobs, clients => $clients, batch => 1, seconds => 4);
        $results->sample("single jobs, $clients client(s)", $subject->name, 'jobs/s', $result->{rate});
    };
}

my ($pgq, $floor) = (Bench::Subject->new($with, 'pgq'), Bench::Subject->new($without, 'floor'));
$results->rounds(map { my $clients = $_; map { measure($_, $clients) } $pgq, $floor } 1, 8);
$results->check_ratio("$_ client(s): of floor", "single jobs, $_ client(s)/pgq", "single jobs, $_ client(s)/floor", 'at least', 0.85)
  foreach 1, 8;
$results->finish;
$_->stop foreach $with, $without;
