# A million rows in one transaction.
use strict;
use warnings;
use Bench::Enqueuer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Time::HiRes qw(time);

my $rows = Bench::Results::scaled(1_000_000);
my $server = Bench::Server->start('with', extension => 1);
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('copy', 2);
my $file = "$ENV{TMPDIR}/rows";

$server->sql("COPY (SELECT 'k' || i FROM generate_series(1, $rows) i) TO '$file'");
$results->rounds(
    sub {
        $pgq->setup;
        my $start = time;
        $server->sql("COPY ev (k) FROM '$file'");
        $results->sample('COPY', 'COPY itself', 's', time - $start);
        Bench::Enqueuer::sync($server);
        $results->sample('COPY', 'all jobs visible', 's', time - $start);
    });
# From the beginning of the COPY, which is more than from its end.
$results->check_ratio('all jobs visible: of the COPY', 'COPY/all jobs visible', 'COPY/COPY itself', 'at most', 4);
$results->finish;
$server->stop;
