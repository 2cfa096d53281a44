# The slot is lost: dropped, or gone with a restored data directory. The enqueuer says so, makes a new one, and finds what
# was committed in between in the WAL and in the sources: nothing is lost or doubled, commit order and the borders of
# handlers are kept. (Points 6, 7 and 9 of the traps of decoding in process, and recovery without a slot.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use File::Path qw(rmtree);
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('lost_slot', 'autovacuum = off');
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial, k text, n int DEFAULT 0, big text);
    CREATE TABLE parted(id bigserial, k text) PARTITION BY LIST (k);
    CREATE TABLE part_a PARTITION OF parted FOR VALUES IN ('a');
    CREATE TABLE part_b(k text, id bigint NOT NULL DEFAULT nextval('parted_id_seq'));
    ALTER TABLE parted ATTACH PARTITION part_b FOR VALUES IN ('b');
    SELECT pgq_create_handler('ev', 'ev', 'k', priority => '1');
    SELECT pgq_create_handler('dropped', 'ev');
    SELECT pgq_create_handler('raises', 'ev', '(1 / (id % 3))::text');
    SELECT pgq_create_handler('parted', 'parted', 'k');
    SELECT pgq_create_queue('q');
    SELECT pgq_sync();
    INSERT INTO ev(k) SELECT 'first' FROM generate_series(1, 10);
    SELECT pgq_sync()});
my $slot_dir = $node->data_dir . '/pg_replslot/' . $node->safe_psql('postgres', 'SELECT slot_name FROM pgq_enqueuer');

# Nobody converts while pgq_progress is locked; what commits is in the WAL and in the tables only.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE pgq_progress IN ACCESS EXCLUSIVE MODE');
fill($node);
$node->stop('immediate');
$holder->{run}->finish;
rmtree($slot_dir);
ok(!-e $slot_dir, 'the slot is gone');
$node->start;
check($node, 'after its loss');
ok($node->log_contains('WARNING:  the replication slot of the enqueuer was lost; making a new one'), 'the log says so');
ok(!$node->log_contains('could not be recovered'), 'and that nothing was lost');
ok(-e $slot_dir, 'there is a slot again');

# The same once more, but the new slot is made and lost again before anything of it is recorded: all begins anew.
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE pgq_progress IN ACCESS EXCLUSIVE MODE');
$node->safe_psql('postgres', q{INSERT INTO ev(k) SELECT 'again' FROM generate_series(1, 10)});
$node->stop('immediate');
$holder->{run}->finish;
rmtree($slot_dir);
$node->append_conf('postgresql.conf', 'log_min_messages = debug1');
$node->start;
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE pgq_event_error, pgq_job IN ACCESS EXCLUSIVE MODE');
$node->safe_psql('postgres', q{INSERT INTO ev(k) SELECT 'and again' FROM generate_series(1, 10)});
$node->stop('immediate');
$holder->{run}->finish;
$node->start;
$node->is_exact('postgres', 'ev', $_, 'true', "a crash in the middle of the recovery: $_") foreach ('ev', 'raises');

# A position that the slot has passed is one that the slot can't give: it counts as lost. Here the slot of a data
# directory is newer than its tables, as after a failover; told by a changed position.
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE pgq_event_error IN ACCESS EXCLUSIVE MODE');
$node->safe_psql('postgres', q{INSERT INTO ev(k) SELECT 'passed' FROM generate_series(1, 10)});
$node->stop('immediate');
$holder->{run}->finish;
$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$node->start;
my $advance = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'})
  ? 'SET output_plugin_libraries = pgq_ext; ' : '';
$node->safe_psql('postgres', $advance . q{SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots});
is($node->safe_psql('postgres', 'SELECT confirmed_flush_lsn > last_lsn FROM pg_replication_slots, pgq_progress'), 't', 'the slot is ahead');
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'pgq_ext'});
$node->restart;
$node->is_exact('postgres', 'ev', 'ev', 'true', 'a slot ahead of the tables');

$node->log_has_no_panic;
PgqNode::done();

# All that can be in the gap: transactions whose order is not that of their rows, subtransactions, rolled-back and
# prepared ones, big values, partitions, requests, and handlers that come, change and go.
sub fill
{
    my ($server) = @_;
    my $late = $server->background_psql('postgres');
    $late->query_safe(q{BEGIN; INSERT INTO ev(k) VALUES ('late 1')});
    $server->safe_psql('postgres', q{
        INSERT INTO ev(k, big) SELECT 'early', string_agg(md5(i::text), '') FROM generate_series(1, 1000) i;
        BEGIN; INSERT INTO ev(k) VALUES ('undone'); ROLLBACK;
        BEGIN;
        INSERT INTO ev(k) VALUES ('sub 1');
        SAVEPOINT a; INSERT INTO ev(k) VALUES ('sub 2'); RELEASE a;
        SAVEPOINT b; INSERT INTO ev(k) VALUES ('undone'); ROLLBACK TO b;
        INSERT INTO ev(k) VALUES ('sub 3');
        COMMIT;
        BEGIN; INSERT INTO ev(k) VALUES ('prepared'); PREPARE TRANSACTION 'p';
        INSERT INTO parted(k) VALUES ('a'), ('b');
        SELECT pgq_enqueue('direct', '{"id": 1}', 'key');
        COMMIT PREPARED 'p';
        SELECT pgq_create_handler('created', 'ev', 'k');
        SELECT pgq_alter_handler('ev', priority => '2', queue => 'q');
        SELECT pgq_drop_handler('dropped');
        INSERT INTO ev(k) VALUES ('behind the borders')});
    $late->query_safe(q{INSERT INTO ev(k) VALUES ('late 2'); COMMIT});
    $late->quit;
    $server->safe_psql('postgres', q{
        SELECT pgq_alter_handler('ev', priority => '3');
        INSERT INTO ev(k) VALUES ('last')});
    return;
}

sub check
{
    my ($server, $when) = @_;
    $server->is_exact('postgres', 'ev', 'ev', 'true', "ev $when");
    $server->is_exact('postgres', 'ev', 'raises', 'true', "a handler that raises $when");
    $server->is_exact('postgres', 'parted', 'parted', 'true', "a partitioned source $when");
    $server->is_exact('postgres', 'ev', 'created', q{k IN ('behind the borders', 'late 1', 'late 2', 'last')}, "the border of a new handler $when");
    $server->is_exact('postgres', 'ev', 'dropped', q{k NOT IN ('behind the borders', 'late 1', 'late 2', 'last')}, "that of a dropped one $when");
    is($server->safe_psql('postgres', q{SELECT string_agg(concat_ws(' ', serialization_key, priority, queue), ', ' ORDER BY position)
        FROM pgq_jobs WHERE handler = 'ev' AND serialization_key <> 'first'}),
        'early 1 default, sub 1 1 default, sub 2 1 default, sub 3 1 default, prepared 1 default, ' .
        'behind the borders 2 q, late 1 2 q, late 2 2 q, last 3 q', "commit order, and the borders of an altered one $when");
    is($server->safe_psql('postgres', q{SELECT length(args ->> 'big') FROM pgq_jobs WHERE handler = 'ev' AND serialization_key = 'early'}), 32000, "a big value $when");
    is($server->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE handler = 'direct'}), 1, "a request $when");
    is($server->safe_psql('postgres', q{SELECT pgq_sync(); INSERT INTO ev(k) VALUES ('new'); SELECT pgq_sync(); SELECT count(*) FROM pgq_jobs WHERE serialization_key = 'new'}) =~ /(\d+)/s ? $1 : '', 2,
        "and it goes on $when");
    $server->is_consistent('postgres');
    return;
}
