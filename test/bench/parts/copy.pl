# A million rows in one transaction; beside it, how long the server takes to insert as many jobs itself.
use strict;
use warnings;
use Bench::Enqueuer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Time::HiRes qw(time);

my $rows = Bench::Results::scaled(1_000_000);
my ($with, $without) = Bench::Server->pair;
my $pgq = Bench::Subject->new($with, 'pgq');
my $floor = Bench::Subject->new($without, 'floor');
my $results = Bench::Results->new('copy', 3);
my $file = "$ENV{TMPDIR}/rows";

$with->sql("COPY (SELECT 'k' || i FROM generate_series(1, $rows) i) TO '$file'");
$results->rounds(
    sub {
        $pgq->setup;
        my $start = time;
        $with->sql("COPY ev (k) FROM '$file'");
        $results->sample('COPY', 'COPY itself', 's', time - $start);
        Bench::Enqueuer::sync($with);
        $results->sample('COPY', 'all jobs visible', 's', time - $start);
        $floor->setup;
        $start = time;
        $floor->fill($rows, q{'k' || i});
        $results->sample('COPY', 'INSERT of the jobs, in SQL', 's', time - $start);
    });
# From the beginning of the COPY, which is more than from its end.
$results->check_ratio('all jobs visible: of the COPY', 'COPY/all jobs visible', 'COPY/COPY itself', 'at most', 4);
$results->finish;
$_->stop foreach $with, $without;
