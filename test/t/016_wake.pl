# A commit that writes a captured table wakes the enqueuer, in whatever way it writes. An idle enqueuer looks around
# once a second only, so without being woken each of these would take about that long.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use PgqNode;

my $node = PgqNode->create('wake');
$node->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');
$node->create_events('postgres');
$node->safe_psql('postgres', q{
    CREATE TABLE parted(k text) PARTITION BY LIST (k);
    CREATE TABLE part PARTITION OF parted FOR VALUES IN ('p');
    SELECT pgq_create_handler('parted', 'parted');
    SELECT pgq_create_queue('direct')});
$node->events_and_jobs('postgres');

my %ways = (
    'INSERT' => q{INSERT INTO ev(k) VALUES ('x')},
    'in a subtransaction' => q{BEGIN; SAVEPOINT s; INSERT INTO ev(k) VALUES ('x'); RELEASE s; COMMIT},
    'in a function' => q{DO $$BEGIN INSERT INTO ev(k) VALUES ('x'); END$$},
    'by COPY' => qq{COPY ev(k) FROM STDIN;\nx\n\\.\n},
    'through a partitioned table' => q{INSERT INTO parted VALUES ('p')},
    'into a partition' => q{INSERT INTO part VALUES ('p')},
    'without waiting for the disk' => q{SET synchronous_commit = off; INSERT INTO ev(k) VALUES ('x')},
    'without statistics' => q{SET track_counts = off; INSERT INTO ev(k) VALUES ('x')},
    'before TRUNCATE of another table' => q{BEGIN; INSERT INTO ev(k) VALUES ('x'); TRUNCATE part; COMMIT},
    'by PREPARE TRANSACTION' => q{BEGIN; INSERT INTO ev(k) VALUES ('x'); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'},
    'by pgq_enqueue' => q{SELECT pgq_enqueue('direct', '{}', queue => 'direct')},
);

# Waits for one job more than there was by looking, not by pgq_sync, which would wake the enqueuer.
my $await = q{
    DO $$BEGIN
        WHILE (SELECT count(*) FROM pgq_jobs) = %d AND clock_timestamp() < statement_timestamp() + interval '10 s' LOOP
        END LOOP;
    END$$};

foreach my $way (sort keys %ways)
{
    # Not woken, it sleeps for a second each time; the fastest of some rounds tells that from a busy machine.
    my $fastest = 10;
    foreach my $round (1 .. 3)
    {
        my $jobs = $node->safe_psql('postgres', 'SELECT count(*) FROM pgq_jobs');
        my $start = time;
        $node->safe_psql('postgres', "$ways{$way};\n" . sprintf($await, $jobs));
        my $seconds = time - $start;
        $fastest = $seconds if $seconds < $fastest;
        is($node->safe_psql('postgres', 'SELECT count(*) FROM pgq_jobs'), $jobs + 1, "$way: one job");
    }
    cmp_ok($fastest, '<', 0.5, "$way: at once");
}

# And nobody else's commit does.
my $switches = sub {
    my ($status) = slurp_file('/proc/' . $node->enqueuer('postgres') . '/status') =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
    return $status;
};
SKIP: {
    skip 'no /proc here', 1 unless -r "/proc/$$/status";
    $node->safe_psql('postgres', 'CREATE TABLE other(k int)');
    $node->events_and_jobs('postgres');
    my $before = $switches->();
    $node->safe_psql('postgres', 'INSERT INTO other VALUES (1);' x 500);
    cmp_ok($switches->() - $before, '<', 50, 'commits that write other tables do not wake it');
}

$node->log_is_clean;
PgqNode::done();
