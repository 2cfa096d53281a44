# At every fault point that is passed while a large transaction is converted in pieces, every action, under a mixed load:
# nothing is lost, doubled or out of order. And the same when the slot is lost in the middle, with its WAL or without.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqFaults;

my %points = PgqFaults::points();
my @points = grep { $points{$_} =~ /pieces\.cpp/ } sort keys %points;
cmp_ok(scalar @points, '>=', 3, 'pieces have fault points');

my $node = PgqFaults->create('faults', "wal_keep_size = '1GB'\npgq_ext.decoding_work_mem = '64kB'\n");
my $large = sub { $node->safe_psql('postgres', 'SELECT insert_bulk(6000)') };

# More subtransactions than are recorded of a large transaction.
my $deep = sub { $node->safe_psql('postgres', q{
    DO $$
    BEGIN
        PERFORM insert_bulk(6000);
        FOR i IN 1 .. 1100 LOOP
            BEGIN
                PERFORM insert_bulk(3);
            EXCEPTION WHEN division_by_zero THEN
                NULL;
            END;
        END LOOP;
    END $$}) };
$node->hit_all($large, @points);

# Stops in the middle of a large transaction, with something parked behind it, lets something happen, and compares.
sub in_the_middle
{
    my ($transaction, $do) = @_;
    $node->set_fault('after_piece', 'wait');
    $transaction->();
    $node->await_fault('after_piece');
    $node->safe_psql('postgres', 'SELECT insert_bulk(30)');
    $do->();
    $node->safe_psql('postgres', 'SELECT insert_bulk(30)');
    return;
}

in_the_middle($large, sub { $node->lose_slot });
$node->is_complete('slot lost in the middle');
in_the_middle($deep, sub { $node->lose_slot });
$node->is_complete('slot lost in the middle of more subtransactions than are recorded');
in_the_middle($large, sub {
    $node->safe_psql('postgres', q{ALTER SYSTEM SET wal_keep_size = 0; SELECT pg_reload_conf()});
    $node->lose_slot;
    $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
    $node->safe_psql('postgres', 'CHECKPOINT');
});
$node->is_complete('slot lost in the middle, and perhaps the WAL, too');
$node->drain;
$node->is_complete('when all is done');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgq_large_transaction'), 0, 'nothing is left to be done');
$node->log_has_no_panic;
PgqNode::done();
