# A table that is altered just while the enqueuer looks at its shape: rows are seen in the shape before or in the one after,
# and nothing is lost in between.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use DecodeNode;
use PgqFaults;

my $node = PgqFaults->create('shape');
$node->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');

# The row is older than the column b, whose default is with the table that the row came into.
sub is_whole
{
    my ($table, $partitions, $name) = @_;
    $node->safe_psql('postgres', qq{
        CREATE TABLE $table (a text) $partitions;
        SELECT pgq_create_handler('$table', '$table')});
    my $pid = DecodeNode::freeze($node, 'postgres');
    $node->safe_psql('postgres', qq{
        INSERT INTO $table VALUES ('x');
        ALTER TABLE $table ADD COLUMN b text DEFAULT 'y'});
    $node->set_fault('within_shape', 'wait');
    DecodeNode::thaw($node, $pid);
    $node->await_fault('within_shape');
    $node->safe_psql('postgres', qq{
        BEGIN;
        ALTER TABLE $table RENAME COLUMN a TO c;
        ALTER TABLE $table RENAME COLUMN b TO d;
        COMMIT});
    $node->go('within_shape');
    return like($node->safe_psql('postgres', qq{SELECT pgq_sync('60 s'); SELECT args FROM pgq_jobs WHERE handler = '$table'}),
        qr/^\s*\{("a": "x", "b": "y"|"c": "x", "d": "y")\}$/, $name);
}

is_whole('plain', '', 'a table');
is_whole('parted', 'PARTITION BY LIST (a); CREATE TABLE parted_rest PARTITION OF parted DEFAULT', 'a partition');
PgqNode::done();
