# Jobs without a key in large batches: what the round trip and the commit of a batch cost.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(150_000);
my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('batch', 3);

sub measure
{
    my ($subject, $batch) = @_;
    return sub {
        my $result = $subject->setup->fill($jobs * 1.1, 'NULL')->work(batch => $batch, jobs => $jobs, seconds => 30);
        $results->sample("no key, batches of $batch", $subject->name, 'jobs/s', $result->{rate});
    };
}

my ($pgq, $floor) = (Bench::Subject->new($with, 'pgq'), Bench::Subject->new($without, 'floor'));
$results->rounds(map { my $batch = $_; map { measure($_, $batch) } $pgq, $floor } 50, 500);
$results->check_ratio('batches of 500: of batches of 50', 'no key, batches of 500/pgq', 'no key, batches of 50/pgq', 'at least', 1.3);
$results->finish;
$_->stop foreach $with, $without;
