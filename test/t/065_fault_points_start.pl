# At every fault point that is passed when an enqueuer starts without a slot that fits, every action, under a mixed load:
# nothing is lost, doubled or out of order, as long as the WAL is there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use PgqFaults;

my %points = PgqFaults::points();
my @points = grep { $points{$_} =~ m{start\.cpp|catch_up\.cpp} } sort keys %points;
cmp_ok(scalar @points, '>=', 5, 'a start without a slot has fault points');

my $node = PgqFaults->create('faults', "wal_keep_size = '1GB'");
$node->hit_all(sub { $node->lose_slot }, @points);
PgqNode::done();
