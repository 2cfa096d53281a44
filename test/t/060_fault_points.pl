# At every fault point of the sources that is passed while the stream runs, every action, under a mixed load: nothing is
# lost, doubled or out of order. The points of a start without a slot are in 065_fault_points_start.pl, those of large
# transactions in 066_fault_points_large.pl, that of a look at a shape in 069_shape.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use PgqFaults;

my %points = PgqFaults::points();
my @points = grep { $points{$_} !~ m{start\.cpp|catch_up\.cpp|pieces\.cpp|shape\.cpp} } sort keys %points;
cmp_ok(scalar @points, '>=', 11, 'the stream has fault points');

my $node = PgqFaults->create('faults');
$node->hit_all(sub { }, @points);
PgqNode::done();
