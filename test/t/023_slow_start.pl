# A transaction anywhere in the cluster keeps a new slot from being made. Meanwhile CREATE EXTENSION returns at once,
# handlers are defined and events are committed; when the slot is there all of them become jobs, in commit order and with
# exact borders.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('slow_start', 'autovacuum = off');
$node->safe_psql('postgres', 'CREATE DATABASE other');
my $long = $node->background_psql('other');
$long->query_safe('BEGIN; SELECT pg_current_xact_id()');

$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial, k text);
    CREATE TABLE parted(k text, n int) PARTITION BY LIST (n);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
    CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
    SELECT pgq_create_handler('parted', 'parted', 'k || n');
    INSERT INTO ev(k) VALUES ('before the handler')});
my $late = $node->background_psql('postgres');
$late->query_safe(q{BEGIN; INSERT INTO ev(k) VALUES ('late 1')});
$node->safe_psql('postgres', q{
    BEGIN; INSERT INTO ev(k) VALUES ('of the definer'); SELECT pgq_create_handler('ev', 'ev', 'k'); COMMIT;
    INSERT INTO ev(k) VALUES ('early');
    BEGIN; INSERT INTO ev(k) VALUES ('undone'); ROLLBACK;
    BEGIN; SAVEPOINT s; INSERT INTO ev(k) VALUES ('undone'); ROLLBACK TO s; INSERT INTO ev(k) VALUES ('kept'); COMMIT;
    BEGIN; INSERT INTO ev(k) VALUES ('ghost'); DELETE FROM ev WHERE k = 'ghost'; COMMIT;
    INSERT INTO ev(k) VALUES ('deleted'); DELETE FROM ev WHERE k = 'deleted';
    BEGIN; INSERT INTO ev(k) VALUES ('first'); UPDATE ev SET k = 'changed' WHERE k = 'first'; COMMIT;
    UPDATE ev SET k = 'changed again' WHERE k = 'changed';
    INSERT INTO parted VALUES ('moved', 1); UPDATE parted SET n = 2;
    BEGIN; INSERT INTO parted VALUES ('moved at once', 1); UPDATE parted SET n = 3 - n; COMMIT;
    SELECT pgq_enqueue('direct', '{}', 'requested');
    SELECT pgq_create_handler('second', 'ev', '(10 / (id % 2))::text')});
$late->query_safe(q{INSERT INTO ev(k) VALUES ('late 2'); COMMIT});
$late->quit;
$node->safe_psql('postgres', q{
    SELECT pgq_alter_handler('ev', priority => '5');
    INSERT INTO ev(k) VALUES ('altered');
    SELECT pgq_drop_handler('second');
    INSERT INTO ev(k) VALUES ('dropped')});

ok($node->poll_query_until('postgres', q{SELECT state ~ 'slot' AND pid IS NOT NULL FROM pgq_enqueuer}), 'the enqueuer says that it makes a slot');
my ($state, $error) = $node->error_of('postgres', q{SELECT pgq_sync('200 ms')});
is($state, '57014', 'pgq_sync does not wait for ever');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE handler = 'ev'}), 0, 'there is no job yet');
# It can be interrupted at any time, and then begins again, with nothing left behind.
my $pid = $node->safe_psql('postgres', 'SELECT pid FROM pgq_enqueuer');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT pid <> $pid AND state ~ 'slot' FROM pgq_enqueuer"), 'terminated it begins again');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE NOT temporary AND NOT active}), 0, 'without a slot left behind');

# In the middle of all this the server crashes; the long transaction goes with it, and another one comes.
$node->stop('immediate');
$long->{run}->finish;
$node->start;
$long = $node->background_psql('other');
$long->query_safe('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('after the crash')});
$long->query_safe('COMMIT');
$long->quit;
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s')});

is($node->safe_psql('postgres', q{SELECT string_agg(serialization_key || ' ' || priority, ', ' ORDER BY position) FROM pgq_jobs WHERE handler IN ('ev', 'direct')}),
    'early 0, kept 0, ghost 0, deleted 0, first 0, requested 0, late 1 0, late 2 0, altered 5, dropped 5, after the crash 5',
    'every event is a job, once, in commit order, by the definition that its commit met') or diag($node->safe_psql('postgres', 'TABLE pgq_jobs'));
is($node->safe_psql('postgres', q{SELECT string_agg(serialization_key, ', ' ORDER BY position) FROM pgq_jobs WHERE handler = 'parted'}),
    'moved1, moved at once1', 'a row that an UPDATE moves to another partition is the event that its insert was');
$node->is_exact('postgres', 'ev', 'second', q{k IN ('late 1', 'late 2', 'altered')}, 'a handler that came and went in the meantime');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_event_errors WHERE handler = 'second'}), '>', 0, 'whose errors are recorded');
$node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('new')});
is($node->safe_psql('postgres', q{SELECT pgq_sync('60 s'); SELECT count(*) FROM pgq_jobs WHERE serialization_key = 'new'}), "\n1", 'and the stream goes on');

$node->log_has_no_panic;
PgqNode::done();
