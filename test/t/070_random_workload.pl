# A random workload against an oracle: whatever types, statements, transactions and changes of tables, what becomes of it is
# what test_decoding and the tables say.
#
# PGQ_SEED runs that seed alone; PGQ_RANDOM_ROUNDS says how many random ones (make random-workload ROUNDS=50).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use RandomRun;
use RandomWorkload;

my $transactions = $ENV{PGQ_RANDOM_TRANSACTIONS} || 25; # of each session
my @seeds = defined $ENV{PGQ_SEED} ? ($ENV{PGQ_SEED}) : (2, map { 1 + int(rand(1_000_000_000)) } 1 .. ($ENV{PGQ_RANDOM_ROUNDS} || 1));

my $node = RandomRun->server;
foreach my $seed (@seeds)
{
    note("PGQ_SEED=$seed");
    my $plan = RandomWorkload->new($seed, $transactions);
    unless (RandomRun->round($node, $plan))
    {
        diag("PGQ_SEED=$seed");
        last;
    }
    RandomRun->clean_up($node, $plan);
}
$node->log_has_no_panic;
PgqNode::done();
