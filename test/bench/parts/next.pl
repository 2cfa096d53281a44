# Completing and claiming the next job in one call, against two calls. Both wait for the disk most of the time, which changes
# from second to second: so the turns are short, and many.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(40_000);
my $server = Bench::Server->start('with', extension => 1);
my $results = Bench::Results->new('next', 7);
my ($next, $pgq) = map { Bench::Subject->new($server, $_) } 'next', 'pgq';

if ($pgq->setup->server->sql(q{SELECT count(*) FROM pg_proc WHERE proname = 'pgq_next'}) eq '0')
{
    print "There is no pgq_next: nothing to measure.\n";
    $server->stop;
    exit;
}

sub measure
{
    my ($subject, $clients) = @_;
    return sub {
        my $result = $subject->setup->fill($jobs, q{'k' || i})->work(jobs => 0.95 * $jobs, clients => $clients, batch => 1, seconds => 2);
        $results->sample("single jobs, $clients client(s)", $subject->name, 'jobs/s', $result->{rate});
    };
}

$results->rounds(map { my $clients = $_; map { measure($_, $clients) } $next, $pgq } 1, 8);
$results->check_ratio("pgq_next, $_ client(s): of two calls", "single jobs, $_ client(s)/next", "single jobs, $_ client(s)/pgq",
    'at least', 1.6)
  foreach 1, 8;
$results->finish;
$server->stop;
