# The slot is lost in every way there is, under load: the enqueuer notices, says so, makes a new one and recovers what was
# missed. As long as the WAL is there, in commit order; when it is gone too, by the recorded snapshot and the tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use PgqLoad;

my $node = PgqLoad->create('slots', "wal_keep_size = '1GB'");
my $lost = qr/WARNING:  the replication slot of the enqueuer was lost/;
my $log_start = 0;

# What the log has to say about the slot since the last time.
sub log_says
{
    my ($pattern, $name) = @_;
    my $log = slurp_file($node->logfile, $log_start);
    $log_start = -s $node->logfile;
    return like($log, $pattern, $name);
}

# Runs commands on a server that does not know us, and so has no enqueuer.
sub without_enqueuer
{
    my ($do) = @_;
    $node->stop;
    $node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
    $node->start;
    $do->();
    $node->stop;
    $node->append_conf('postgresql.conf', "shared_preload_libraries = 'pgq_ext'");
    $node->start;
    return;
}

sub slot_directory
{
    my ($directory) = glob($node->data_dir . '/pg_replslot/pgq_ext_*');
    return $directory;
}

$node->create_load;
$node->start_load;
$node->is_exact('at first');

# Dropped by hand, with the enqueuer just gone.
$node->lose_slot;
$node->is_exact('slot dropped');
log_says($lost, 'and said so');

# Its directory is gone.
$node->stop('immediate');
system_or_bail('rm', '-r', slot_directory());
$node->start;
$node->is_exact('directory of the slot removed');
log_says($lost, 'and said so');

# It is behind what was recorded, as after a crash, only more.
$node->stop;
my $copy = PostgreSQL::Test::Utils::tempdir . '/slot';
my $slot = slot_directory();
system_or_bail('cp', '-rp', $slot, $copy);
$node->start;
$node->is_exact('after a restart');
$node->stop('immediate');
system_or_bail('rm', '-r', $slot);
system_or_bail('cp', '-rp', $copy, $slot);
$log_start = -s $node->logfile;
$node->start;
$node->is_exact('slot behind the recorded position');
unlike(slurp_file($node->logfile, $log_start), $lost, 'and that is no loss');

# It is ahead of what was recorded; in between nothing was committed that is an event.
$node->stop_load;
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s'); CREATE TABLE recorded AS SELECT last_lsn FROM pgq_progress;
    SELECT pg_logical_emit_message(false, 'none', repeat('x', 1000000))});
$node->poll_query_until('postgres', q{SELECT confirmed_flush_lsn > last_lsn FROM pg_replication_slots, recorded})
  or die 'the slot does not move';
my $pid = $node->enqueuer('postgres');
kill 'STOP', $pid;
$node->safe_psql('postgres', q{UPDATE pgq_progress SET last_lsn = r.last_lsn FROM recorded r;
    SELECT insert_events(3) FROM generate_series(1, 5)});
kill $_, $pid foreach 'TERM', 'CONT';
$node->is_exact('slot ahead of the recorded position');
log_says($lost, 'and said so');

# Nobody was there, and the slot was dropped meanwhile.
without_enqueuer(sub {
    $node->safe_psql('postgres', q{SELECT insert_events(3) FROM generate_series(1, 5);
        SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots});
});
$node->is_exact('slot dropped while there was no enqueuer');
log_says($lost, 'and said so');

# Now the WAL goes, too. Handlers don't change meanwhile: where, in the order of commits, is not known then.
# A transaction is prepared before the loss and committed in the gap; rows are frozen in the gap.
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s');
    ALTER SYSTEM SET wal_keep_size = 0; ALTER SYSTEM SET max_slot_wal_keep_size = '16MB';
    ALTER SYSTEM SET max_wal_size = '48MB'; ALTER SYSTEM SET min_wal_size = '32MB'; SELECT pg_reload_conf()});
$node->safe_psql('postgres', q{BEGIN; INSERT INTO ev (k, n) SELECT 'prepared', i FROM generate_series(1, 5) i;
    PREPARE TRANSACTION 'over the gap'});
# The enqueuer is stopped while it is idle: in the middle of its work it may hold a lock that all the others need.
$pid = $node->enqueuer('postgres');
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s')});
kill 'STOP', $pid;
$node->start_load(operator => undef);
$node->safe_psql('postgres', q{SELECT insert_events(2) FROM generate_series(1, 3)});
foreach my $megabytes (1 .. 5)
{
    $node->safe_psql('postgres', q{SELECT count(pg_logical_emit_message(false, 'none', repeat('x', 1000000)))
        FROM generate_series(1, 16); SELECT pg_switch_wal()});
}
$node->safe_psql('postgres', 'VACUUM (FREEZE) ev');
my $checkpoint = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', 'CHECKPOINT' ]);
$node->wait_for_log(qr/terminating process $pid to release replication slot/, $log_start);
kill 'CONT', $pid;
$node->wait_for_log(qr/invalidating.*slot "pgq_ext_/, $log_start);
$node->safe_psql('postgres', q{COMMIT PREPARED 'over the gap'});
IPC::Run::finish($checkpoint);
my $report = $node->is_complete('slot and WAL gone');
log_says(qr/WARNING:  events committed between .* were recovered from the tables alone/, 'and said so');
is($node->safe_psql('postgres', q{SELECT converted IS NOT NULL FROM pgq_progress}), 't', 'the next snapshot is recorded');
$node->stop_load;
$node->is_complete('at the end');
$node->drain;
$node->is_complete('when all is done');

$node->log_has_no_panic;
diag("slot losses: events $report->{events}, lost $report->{lost}, doubled $report->{doubled}, "
      . "not of any event $report->{unwanted}, out of order where the WAL was gone $report->{disordered}");
PgqNode::done();
