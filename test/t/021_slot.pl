# The replication slot in peace: nobody else can use the output plugin, the slot moves when others write, and nothing is
# written or held back when nobody does. That VACUUM respects the enqueuer's snapshots shows in no test without a race:
# StartDecoding in src/decode/decoder.cpp makes the context within a transaction for that. Whether position and slot fit
# is asked at each start, by SlotFits in src/process/start.cpp; 022 tests it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('slot', "autovacuum = off\nbgwriter_delay = 10s\n");
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE EXTENSION pg_walinspect;
    CREATE TABLE ev(id bigserial, k text);
    CREATE TABLE uncaptured(id int, filler text);
    SELECT pgq_create_handler('ev', 'ev', 'k');
    SELECT pgq_sync();
    INSERT INTO ev(k) VALUES ('a')});
# Or those who look would prune the catalogs, and write by that.
$node->safe_psql('postgres', 'VACUUM');
my $pid = $node->enqueuer('postgres');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots WHERE slot_name = (SELECT slot_name FROM pgq_enqueuer)'),
    1, 'with output_plugin_libraries as it comes the enqueuer decodes');

# Others.
my $create = q{SELECT pg_create_logical_replication_slot('x', 'pgq_ext')};
my ($state, $error) = $node->error_of('postgres', $create);
isnt($state, 'none', 'the plugin is refused to a session');
my $setting = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'});
($state, $error) = $node->error_of('postgres', ($setting ? 'SET output_plugin_libraries = pgq_ext; ' : '') . $create);
is($state, '0A000', 'also to a superuser who allows it');
like($error, qr/can only be used by the enqueuer/, 'by the plugin itself');
($state, $error) = $node->error_of('postgres', q{SELECT pg_logical_slot_get_changes((SELECT slot_name FROM pgq_enqueuer), NULL, NULL)});
like($error, qr/is active for PID $pid/, 'our slot is in our hands');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), 1, 'and no other slot is left behind');

# Other tables write: the confirmed position follows, and WAL need not be kept. The server logs running transactions once
# in 15 seconds, and the slot can move only when it meets one: for this much WAL the enqueuer logs its own, at least one
# for each 16 MB that it is not behind.
my $slot = q{FROM pg_replication_slots};
my ($restart, $confirmed) = split /\|/, $node->safe_psql('postgres', "SELECT restart_lsn, confirmed_flush_lsn $slot");
my $start = $node->lsn('insert');
foreach my $round (1 .. 6)
{
    $node->safe_psql('postgres', q{INSERT INTO uncaptured SELECT i, repeat('x', 1000) FROM generate_series(1, 10000) i});
}
$node->safe_psql('postgres', 'SELECT pgq_sync()');
$node->poll_query_until('postgres', "SELECT confirmed_flush_lsn > '$start'::pg_lsn + 50000000 $slot");
ok($node->poll_query_until('postgres', "SELECT restart_lsn > '$start'::pg_lsn + 20000000 $slot"), 'restart_lsn follows what others write');
my $end = $node->lsn('flush');
cmp_ok($node->safe_psql('postgres', qq{SELECT count(*) FROM pg_get_wal_records_info('$start', '$end')
    WHERE resource_manager = 'Standby' AND record_type = 'RUNNING_XACTS'}), '>=', 1, 'as the enqueuer logs running transactions');
cmp_ok($node->safe_psql('postgres', 'SELECT lag_bytes FROM pgq_enqueuer'), '<', 1000000, 'and the lag is none');

# Idle: for some rounds of the enqueuer's clock nothing of ours is written, and no snapshot is held. This looks at a
# stretch of time, and waits for nothing.
$node->safe_psql('postgres', 'CHECKPOINT; SELECT pgq_sync()');
$pid = $node->enqueuer('postgres');
$node->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid");
$start = $node->lsn('insert');
my $seen = $node->safe_psql('postgres', qq{
    DO \$\$
    DECLARE
        now record;
        looks int := 0;
        busy int := 0;
        waits int := 0;
    BEGIN
        WHILE looks < 30 LOOP
            PERFORM pg_sleep(0.1), pg_stat_clear_snapshot();
            SELECT backend_xmin, backend_xid, wait_event INTO now FROM pg_stat_activity WHERE pid = $pid;
            looks := looks + 1;
            busy := busy + (now.backend_xmin IS NOT NULL OR now.backend_xid IS NOT NULL)::int;
            waits := waits + (now.wait_event IS NOT NULL)::int;
        END LOOP;
        PERFORM set_config('pgq_test.seen', format('busy %s, waits %s', busy, waits > 20), false);
    END\$\$;
    SELECT current_setting('pgq_test.seen')});
is($seen, 'busy 0, waits t', 'an idle enqueuer waits, without a snapshot and without a transaction');
$end = $node->lsn('insert');
# What nobody waits for may not be flushed yet, and can't be read then: a commit that writes flushes it.
$node->safe_psql('postgres', q{SELECT pg_logical_emit_message(true, 'flush', '')});
is($node->safe_psql('postgres', qq{
    SELECT string_agg(resource_manager || ' ' || record_type, ', ') FROM pg_get_wal_records_info('$start', '$end')
     WHERE resource_manager NOT IN ('Standby', 'XLOG')}), '', 'and writes nothing') if $end ne $start;

$node->is_exact('postgres', 'ev', 'ev', 'true', 'the one event is one job');
$node->log_is_clean;
PgqNode::done();
