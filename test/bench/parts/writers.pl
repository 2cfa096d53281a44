# What the extension costs those who write: into a captured table, and into others of the same database.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Bench::Writers;

my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('writers', 12);
my %servers = (with => $with, without => $without);
my @tpcb = ('pgbench', '-n', '-M', 'prepared', '-c', 8, '-j', 2);

Bench::Subject->new($with, 'pgq')->setup;
Bench::Subject->new($without, 'polling')->setup; # the same table, and nobody polls
$_->client('pgbench', '-iq', '-s', 10) foreach $with, $without;

# Without a load of the other kind: what of it is to be converted or written back is gone before.
sub measure
{
    my ($scenario, $name, @command) = @_;
    return sub {
        $_->sql('CHECKPOINT') foreach $with, $without;
        $with->sql(q{SELECT pgq_sync('10 min')});
        $results->sample($scenario, $name, 'transactions/s', Bench::Writers::rate($servers{$name}, @command, '-T', 5));
    };
}

$results->rounds(map { measure('captured table', $_, Bench::Writers::command()) } 'with', 'without');
$results->rounds(map { measure('other tables', $_, @tpcb) } 'with', 'without');
$results->check_ratio('captured table: of a server without the extension', 'captured table/with', 'captured table/without', 'at least', 0.95);
$results->check_ratio('other tables: of a server without the extension', 'other tables/with', 'other tables/without', 'at least', 0.97);
$results->finish;
$_->stop foreach $with, $without;
