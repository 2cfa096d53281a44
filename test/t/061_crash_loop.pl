# Random kills under a load that also runs DDL: whatever dies, and whenever, nothing is lost, doubled or out of order.
#
# PGQ_CRASH_CYCLES says how many kills (make soak-crash CYCLES=50), PGQ_CRASH_SEED which and when.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(shuffle);
use Test::More;
use PgqLoad;

my $cycles = $ENV{PGQ_CRASH_CYCLES} || 6;
my $seed = $ENV{PGQ_CRASH_SEED} || 1 + int(rand(1_000_000));
srand($seed);

# Our tables get new files, and sources get new shapes. What TRUNCATE takes is kept, so that it can be compared.
my $rewrites = <<'EOF_SQL';
VACUUM FULL pgq_job;
VACUUM FULL ev;
BEGIN;
LOCK TABLE pgq_archive, archived;
INSERT INTO archived SELECT * FROM pgq_jobs WHERE finished_at IS NOT NULL;
TRUNCATE pgq_archive;
COMMIT;
VACUUM FULL pgq_progress;
CLUSTER pgq_job USING pgq_job_pkey;
VACUUM FULL pgq_request;
BEGIN;
LOCK TABLE short, gone;
INSERT INTO gone SELECT id FROM short;
TRUNCATE short;
COMMIT;
CLUSTER ev USING ev_pkey;
VACUUM FULL pgq_handler;
VACUUM FULL pgq_active_handler;
VACUUM FULL pgq_event_error;
VACUUM FULL pgq_archive;
SELECT pg_sleep(0.3);
EOF_SQL

my $shapes = <<'EOF_SQL';
ALTER TABLE shape ADD COLUMN IF NOT EXISTS extra float8 DEFAULT random();
SELECT pg_sleep(0.05);
ALTER TABLE shape RENAME COLUMN k TO key;
ALTER TABLE shape ALTER COLUMN p TYPE text;
SELECT pg_sleep(0.05);
ALTER TABLE shape DROP COLUMN IF EXISTS extra, ADD COLUMN IF NOT EXISTS other int[] DEFAULT '{1}';
ALTER TABLE shape RENAME COLUMN key TO k;
SELECT pg_sleep(0.05);
ALTER TABLE shape ALTER COLUMN p DROP DEFAULT, ALTER COLUMN p TYPE bigint USING p::bigint;
ALTER TABLE shape DROP COLUMN IF EXISTS other;
BEGIN;
INSERT INTO shape DEFAULT VALUES;
ALTER TABLE shape ADD COLUMN within text DEFAULT 'w';
INSERT INTO shape DEFAULT VALUES;
ALTER TABLE shape DROP COLUMN within;
INSERT INTO shape DEFAULT VALUES;
COMMIT;
SELECT pgq_create_handler('dropped', 'short', filter => 'false');
SELECT pgq_alter_handler('dropped', queue => 'fast');
SELECT pgq_drop_handler('dropped');
SELECT pg_sleep(0.3);
EOF_SQL

my $node = PgqLoad->create('crash');

# The pid of a process that is doing that; undef when there is none.
sub process
{
    my ($condition) = @_;
    my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $condition LIMIT 1");
    return $pid eq '' ? undef : $pid;
}

sub strike
{
    my ($signal, $condition) = @_;
    my $pid = process($condition);
    kill $signal, $pid if defined $pid;
    return;
}

my $enqueuer = q{backend_type = 'pgq_ext enqueuer'};
my %kills = (
    'SIGKILL of the enqueuer' => sub { strike('KILL', $enqueuer) },
    'SIGKILL of a worker' => sub { strike('KILL', q{query LIKE 'CALL work%' AND state = 'active'}) },
    'SIGKILL of the postmaster' => sub { $node->kill9; $node->start_again },
    'SIGTERM of the enqueuer' => sub { strike('TERM', $enqueuer) },
    'an immediate stop' => sub { $node->stop('immediate'); $node->start_again },
    'a fast stop' => sub { $node->stop('fast'); $node->start_again });

$node->create_load;
$node->start_load(rewrites => $rewrites, shapes => $shapes);
my %sum = (lost => 0, doubled => 0, unwanted => 0, disordered => 0);
my @kinds;
for my $cycle (1 .. $cycles)
{
    @kinds = shuffle(sort keys %kills) if !@kinds;
    my $kind = shift @kinds;
    # The moment is random: this waits for nothing.
    select(undef, undef, undef, 0.2 + rand(1));
    $kills{$kind}->();
    $node->await_server;
    my $report = $node->is_exact("cycle $cycle: $kind");
    $sum{$_} += $report->{$_} foreach keys %sum;
}
$node->stop_load;
my $report = $node->is_exact('at the end');
$node->drain;
$node->is_exact('when all is done');
$node->log_has_no_panic;

diag("crash loop: cycles $cycles, events $report->{events}, lost $sum{lost}, doubled $sum{doubled}, "
      . "not of any event $sum{unwanted}, order violations $sum{disordered}");
diag("PGQ_CRASH_SEED=$seed PGQ_CRASH_CYCLES=$cycles") unless Test::More->builder->is_passing;
PgqNode::done();
