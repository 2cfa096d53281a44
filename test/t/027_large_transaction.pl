# Large transactions are converted in pieces: what commits behind them does not wait, each key keeps its order, and whatever
# ends the enqueuer in the middle, nothing is lost or doubled.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $rows = 60000;
my $node = DecodeNode->create('large', "autovacuum = off\npgq_ext.decoding_work_mem = '256kB'\ntemp_file_limit = '1MB'\npgq_ext.expression_timeout = 0\n");
$ENV{PGOPTIONS} = '-c temp_file_limit=-1'; # the limit is not for what the enqueuer has to keep, nor for this test's queries
my $sql = sub { return $node->safe_psql('postgres', @_) };
my $unfinished = 'EXISTS (SELECT FROM pgq_large_transaction WHERE rows_converted > 0)';

# Each key's jobs must be in the order of its events, and these are committed in the order of n.
sub is_in_order
{
    my ($handler) = @_;
    return is($sql->(qq{
        SELECT count(*) FROM (SELECT (args ->> 'n')::bigint AS n, lag((args ->> 'n')::bigint) OVER
            (PARTITION BY serialization_key ORDER BY position) AS before FROM pgq_jobs WHERE handler = '$handler') j
         WHERE n <= before}), 0, "$handler: every key in its order");
}

$sql->(q{
    CREATE EXTENSION pgq_ext;
    CREATE SEQUENCE n;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k text, n bigint DEFAULT nextval('n'), body text);
    CREATE TABLE other(id bigserial PRIMARY KEY, k text, n bigint DEFAULT nextval('n'));
    CREATE TABLE aside(a text);
    SELECT pgq_create_handler('ev', 'ev', 'k', args => $$jsonb_build_object('id', id, 'n', n)$$);
    SELECT pgq_create_handler('odd', 'ev', filter => 'id % 2 = 1', args => $$jsonb_build_object('id', id, 'x', 1 / (id % 1001))$$);
    SELECT pgq_create_handler('other', 'other', 'k')});
$sql->('SELECT pgq_sync()');
my $pid = $node->enqueuer('postgres');

# Events of other sources, and of the same one, are jobs while the large transaction is being converted. A job whose key
# may still come waits; one of another handler does not.
$sql->("INSERT INTO ev(k) SELECT 'k' || i % 100 FROM generate_series(1, $rows) i");
$sql->(q{INSERT INTO ev(k) VALUES ('k1'), ('late'); INSERT INTO other(k) VALUES ('late')});
ok($node->poll_query_until('postgres', qq{SELECT $unfinished FROM pgq_jobs WHERE handler = 'other' AND serialization_key = 'late'}),
    'an event of another source is a job before the last piece');
is($sql->(qq{SELECT count(*), $unfinished FROM pgq_jobs WHERE handler = 'ev' AND serialization_key = 'late'}), '1|t',
    'and so is one of the same source');
is($sql->(qq{SELECT DISTINCT state FROM pgq_job WHERE serialization_key = 'late' AND handler = 'ev' AND $unfinished}), 'p',
    'which is parked');
is($sql->(q{SELECT serialization_key FROM pgq_dequeue(1000000) WHERE handler = 'other'}), 'late', 'the other one can be worked');
my $parked = $sql->(q{SELECT job_id FROM pgq_jobs WHERE handler = 'ev' AND serialization_key = 'late'});
is($sql->("SELECT pgq_cancel($parked)"), 't', 'a parked job can be cancelled');
my ($code) = $node->error_of('postgres', q{SELECT pgq_sync('1 ms')});
is($code, '57014', 'pgq_sync waits for the last piece');

# Killed again and again, each time when there was some progress since the last time.
my $converted = 0;
foreach my $round (1 .. 3)
{
    $node->poll_query_until('postgres', "SELECT rows_converted > $converted FROM pgq_large_transaction")
      or die 'the large transaction is not being converted';
    kill 'KILL', $pid;
    $pid = $node->enqueuer('postgres', $pid);
    $converted = $sql->('SELECT rows_converted FROM pgq_large_transaction') || last;
    $sql->(q{INSERT INTO ev(k) VALUES ('k1'), ('k' || 200 + nextval('n')); INSERT INTO other(k) VALUES ('k1')});
}
cmp_ok($converted, '>', 0, 'killed in the middle');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'every row of it is one job');
$node->is_exact('postgres', 'ev', 'odd', 'id % 2 = 1', 'or one event error');
$node->is_exact('postgres', 'other', 'other', 'true', 'what was committed meanwhile, too');
is_in_order('ev');
is($sql->(q{SELECT count(*) FROM pgq_large_transaction}), 0, 'nothing is left to be done');
is($sql->(q{SELECT count(*) FROM pgq_job WHERE state = 'p'}), 0, 'no job is left parked');
$node->is_consistent('postgres');

# Two of them, with jobs parked behind each; a change of handlers comes when both are done, and applies to what is behind.
$sql->("INSERT INTO ev(k) SELECT 'k' || i % 10 FROM generate_series(1, $rows / 3) i");
$sql->(q{INSERT INTO ev(k) SELECT 'k' || i FROM generate_series(1, 20) i});
$sql->("INSERT INTO ev(k) SELECT 'k' || i % 10 FROM generate_series(1, $rows / 3) i");
$sql->(q{INSERT INTO ev(k) SELECT 'k' || i FROM generate_series(1, 20) i;
    SELECT pgq_enqueue('ev', jsonb_build_object('id', -1, 'n', nextval('n')), 'k1')});
$sql->(q{SELECT pgq_create_handler('new', 'ev', 'k')});
my $first = $sql->('SELECT nextval($$ev_id_seq$$)');
$sql->(q{INSERT INTO ev(k) SELECT 'k' || i FROM generate_series(1, 20) i});
my $all = '(SELECT id FROM ev UNION ALL SELECT -1) e'; # -1: what was enqueued meanwhile
$node->is_exact('postgres', $all, 'ev', 'true', 'two large transactions');
$node->is_exact('postgres', 'ev', 'new', "id > $first", 'and a handler defined behind them');
is_in_order('ev');

# Who is changing a parked job holds up its key and nothing else: not the next large transaction, nor a change of handlers,
# nor the stream. What comes of the key meanwhile stays behind it.
$sql->("INSERT INTO ev(k) SELECT 'k' || i % 10 FROM generate_series(1, $rows / 3) i");
$sql->(q{INSERT INTO ev(k) SELECT 'h1' FROM generate_series(1, 3)});
my $of_h1 = q{pgq_job WHERE serialization_key = 'h1' AND handler = 'ev' AND state = 'p'};
$node->poll_query_until('postgres', "SELECT count(*) = 3 FROM $of_h1") or die 'nothing is parked';
my $holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; SELECT pgq_cancel(min(job_id)) FROM $of_h1");
$sql->("INSERT INTO ev(k) SELECT 'h' || i % 10 FROM generate_series(1, $rows) i");
$sql->(q{SELECT pgq_create_handler('besides', 'other'); INSERT INTO other(k) VALUES ('besides')});
$sql->(q{INSERT INTO ev(k) VALUES ('h1'), ('h2'); SELECT pgq_sync('60 s')});
is($sql->(q{SELECT count(*) FROM pgq_jobs WHERE handler = 'besides'}), 1, 'all was converted meanwhile');
is($sql->(q{SELECT string_agg(DISTINCT serialization_key, ' ') FROM pgq_job WHERE state = 'p'}), 'h1', 'one key stays parked');
$holder->query_safe('ROLLBACK');
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pgq_job WHERE state = 'p'}) or die 'some stay parked';
is_in_order('ev');
$node->is_consistent('postgres');

# A parked job that gets its place while the one before it is leaving is handed out when that has left, though jobs behind it
# have been handed out before. The gate keeps the large transaction from being converted to its end.
$sql->(q{
    CREATE TABLE gated(k text, body text);
    CREATE FUNCTION gate(body text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF body = 'gate' THEN
            PERFORM pg_advisory_xact_lock_shared(1);
        END IF;
        RETURN true;
    END $$;
    SELECT pgq_create_handler('gated', 'gated', 'k', filter => 'gate(body)');
    INSERT INTO gated VALUES ('z');
    SELECT pgq_sync('60 s')});
my $take = q{FROM pgq_dequeue(1000000, lease => '1 h') WHERE handler = 'gated' AND serialization_key = 'z'};
my $parked_z = q{FROM pgq_job WHERE handler = 'gated' AND serialization_key = 'z' AND state = 'p'};
my ($first_of_z, $attempt) = split /\|/, $sql->("SELECT job_id, attempt $take");
my ($keeper, $worker) = map { $node->background_psql('postgres') } 1 .. 2;
$keeper->query_safe('SELECT pg_advisory_lock(1)');
$sql->(q{INSERT INTO gated SELECT 'k' || i % 10, CASE i WHEN 12000 THEN 'gate' END FROM generate_series(1, 12000) i});
$sql->(q{INSERT INTO gated VALUES ('z'); INSERT INTO other(k) VALUES ('behind')});
$node->poll_query_until('postgres', "SELECT count(*) = 1 $parked_z") or die 'nothing is parked';
$holder->query_safe("BEGIN; SELECT pgq_cancel(job_id) $parked_z");
$keeper->query_safe('SELECT pg_advisory_unlock(1)');
$sql->(q{SELECT pgq_sync('60 s')});
is($sql->("SELECT count(*) $take"), 0, 'all is handed out that has its place');
$worker->query_safe("BEGIN; SELECT pgq_complete($first_of_z, $attempt)");
$holder->query_safe('ROLLBACK');
$node->poll_query_until('postgres', "SELECT count(*) = 0 $parked_z") or die 'it stays parked';
is($sql->("SELECT count(*) $take"), 0, 'the next of the key waits');
$worker->query_safe('COMMIT');
is($sql->("SELECT count(*) $take"), 1, 'until the one before it has left');
$_->quit foreach $keeper, $worker;

# One that is rolled back in parts: by savepoints, with rows of both on either side of each stretch of the stream.
$sql->(q{
    CREATE TABLE kept(id bigint);
    DO $$
    DECLARE new bigint;
    BEGIN
        FOR i IN 1 .. 4000 LOOP
            BEGIN
                INSERT INTO ev(k, body) VALUES ('s' || i % 7, repeat(md5(i::text), 3)) RETURNING id INTO new;
                IF i % 3 = 0 THEN
                    RAISE EXCEPTION 'taken back';
                END IF;
                INSERT INTO kept VALUES (new);
            EXCEPTION WHEN raise_exception THEN NULL;
            END;
        END LOOP;
    END $$});
$node->is_exact('postgres', $all, 'ev', 'true', 'subtransactions that were rolled back give nothing');
is($sql->(q{SELECT count(*) FROM kept k JOIN pgq_jobs j ON j.handler = 'ev' AND (j.args ->> 'id')::bigint = k.id}), 2667,
    'and the others all');
$node->psql('postgres', "BEGIN; INSERT INTO ev(k) SELECT 'never' FROM generate_series(1, $rows / 2); ROLLBACK");
$sql->(q{BEGIN; INSERT INTO ev(k) SELECT 'x' FROM generate_series(1, 20000); PREPARE TRANSACTION 'large'});
$sql->(q{INSERT INTO ev(k) VALUES ('x')});
$sql->(q{COMMIT PREPARED 'large'; INSERT INTO ev(k) VALUES ('x')});
$node->is_exact('postgres', $all, 'ev', 'true', 'rolled back, and prepared');
is($sql->(q{SELECT count(*) FROM pgq_jobs WHERE serialization_key = 'never'}), 0, 'nothing of what was rolled back');
is($sql->(q{SELECT (array_agg(args ->> 'id' ORDER BY position))[1] = min((args ->> 'id')::bigint)::text FROM pgq_jobs
              WHERE handler = 'ev' AND serialization_key = 'x'}), 'f', 'in the order of commits, not of inserts');

# One that changes what it is about: columns, handlers, a table of its own, which moves rows between partitions.
$sql->(q{
    CREATE TABLE part(id bigserial, r int, k text) PARTITION BY LIST (r);
    CREATE TABLE part_0 PARTITION OF part FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
    SELECT pgq_create_handler('part', 'part', 'k')});
$sql->(q{
    BEGIN;
    INSERT INTO part(r, k) SELECT 0, 'p' || i % 10 FROM generate_series(1, 6000) i;
    UPDATE part SET r = 1;
    ALTER TABLE part ADD COLUMN more int DEFAULT 7;
    ALTER TABLE part DROP COLUMN more;
    ALTER TABLE part ADD COLUMN more text DEFAULT 'm';
    INSERT INTO part(r, k) SELECT i % 2, 'p' || i % 10 FROM generate_series(1, 6000) i;
    UPDATE part SET r = 1 - r WHERE id % 2 = 0;
    COMMIT});
$node->is_exact('postgres', 'part', 'part', 'true', 'rows that were moved are one event each');
$sql->(q{
    BEGIN;
    INSERT INTO part(r, k) SELECT 0, 'q' FROM generate_series(1, 5000);
    SELECT pgq_create_handler('inside', 'part');
    SELECT pgq_drop_handler('new');
    INSERT INTO part(r, k) SELECT 0, 'q' FROM generate_series(1, 5000);
    COMMIT});
$sql->(q{INSERT INTO part(r, k) VALUES (0, 'behind')});
$node->is_exact('postgres', 'part', 'part', 'true', 'one that defines and drops handlers');
$node->is_exact('postgres', 'part', 'inside', "k = 'behind'", 'the one it defines applies behind it');
is($sql->(q{SELECT count(*) FROM pgq_handlers WHERE handler = 'new'}), 0, 'the one it drops is gone');

# Requests, and rows that nobody captures.
$sql->(q{SELECT count(pgq_enqueue('many', to_jsonb(i), 'm' || i % 5)) FROM generate_series(1, 12000) i});
$sql->(q{SELECT pgq_enqueue('many', '0', 'm1')});
$sql->(q{INSERT INTO aside SELECT repeat('a', 100) FROM generate_series(1, 50000)});
$sql->(q{SELECT pgq_sync('60 s')});
is($sql->(q{SELECT count(*), count(DISTINCT args), (array_agg(args ORDER BY position DESC))[1] FROM pgq_jobs WHERE handler = 'many'}),
    '12001|12001|0', 'a large transaction of requests');
is($sql->(q{SELECT count(*) FROM pgq_request}), 0, 'all of them done');

# Its files are gone with it.
is($sql->(q{SELECT count(*) FROM pg_ls_tmpdir()}), 0, 'no temporary file is left');
is($sql->(q{SELECT count(DISTINCT position) = count(position) FROM pgq_jobs}), 't', 'no position twice');
$node->log_has_no_panic;
PgqNode::done();
