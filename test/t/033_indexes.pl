# Indexes of the extension's tables: rebuilt while all is at work, incomplete, and such as somebody has added. Whatever writes
# a row keeps all of them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;
use PsqlSession;

my $node = DecodeNode->create('indexes');
my $sql = sub { return $node->safe_psql('postgres', @_) };

# Every row is in every index of these tables.
sub indexes_are_whole
{
    my ($name) = @_;
    my ($code, $out, $err) = $node->psql('postgres', q{
        SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = relam
         WHERE amname = 'btree' AND indisvalid AND indrelid IN ('pgq_job'::regclass, 'pgq_archive'::regclass)});
    return is($err, '', $name);
}

$sql->(q{
    CREATE EXTENSION amcheck;
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k text);
    CREATE TABLE started(n bigserial, k text, id bigint);
    CREATE TABLE stop(what text);
    SELECT pgq_create_handler('ev', 'ev', 'k');
    CREATE PROCEDURE produce() LANGUAGE plpgsql AS $$
    BEGIN
        WHILE NOT EXISTS (SELECT FROM stop WHERE what = 'produce') LOOP
            -- No more than can be worked.
            INSERT INTO ev(k) SELECT 'k' || floor(random() * 100) FROM generate_series(1, 20)
             WHERE (SELECT last_value FROM ev_id_seq) < (SELECT last_value FROM started_n_seq) + 500;
            COMMIT;
        END LOOP;
    END $$;
    -- Until nothing is left after the end of production.
    CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
    DECLARE
        ids bigint[];
        attempts int[];
    BEGIN
        LOOP
            WITH taken AS (SELECT * FROM pgq_dequeue(20, lease => '1 h')),
                 noted AS (INSERT INTO started(k, id) SELECT serialization_key, (args ->> 'id')::bigint FROM taken)
            SELECT array_agg(job_id), array_agg(attempt) INTO ids, attempts FROM taken;
            COMMIT;
            EXIT WHEN ids IS NULL AND NOT EXISTS (SELECT FROM pgq_job)
                  AND EXISTS (SELECT FROM stop WHERE what = 'work');
            PERFORM pgq_complete(ids, attempts) WHERE ids IS NOT NULL;
            COMMIT;
        END LOOP;
    END $$});

# Rebuilt, one after the other, while everybody uses them.
my @sessions = map { PsqlSession->new($node->connstr('postgres')) } 1 .. 3;
$sessions[0]->send('CALL produce()');
$_->send('CALL work()') foreach @sessions[1, 2];
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM started') or die 'nobody works';
foreach my $round (1 .. 3)
{
    my $done = $sql->('SELECT count(*) FROM started');
    $sql->("REINDEX TABLE CONCURRENTLY $_") foreach qw(pgq_job pgq_archive);
    $node->poll_query_until('postgres', "SELECT count(*) > $done + 100 FROM started") or die 'the work does not go on';
}
$sql->(q{INSERT INTO stop VALUES ('produce')});
$sessions[0]->query('SELECT');
$sql->(q{SELECT pgq_sync('60 s'); INSERT INTO stop VALUES ('work')});
$_->query('SELECT') foreach @sessions[1, 2];
is(join(' ', map { $_->errors } @sessions), '', 'without an error');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'rebuilding indexes loses and doubles nothing');
is($sql->('SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY k ORDER BY n) AS before FROM started) s WHERE id <= before'), 0,
    'and every key has kept its order');
$_->quit foreach @sessions;
indexes_are_whole('the new indexes have every row');

# Somebody's own: of expressions, of a part, unique at once and at the end, and of another kind.
$sql->(q{
    CREATE INDEX mine_job ON pgq_job (upper(handler), priority) WHERE priority > 0;
    CREATE INDEX mine_lower ON pgq_archive (lower(handler), finished_at);
    CREATE INDEX mine_part ON pgq_archive (priority DESC, job_id) WHERE serialization_key LIKE '%1';
    CREATE UNIQUE INDEX mine_unique ON pgq_archive (job_id) WHERE status = 'c';
    ALTER TABLE pgq_archive ADD CONSTRAINT mine_late UNIQUE (job_id, attempt) DEFERRABLE INITIALLY DEFERRED;
    CREATE INDEX mine_args ON pgq_archive USING gin (args);
    ALTER TABLE pgq_archive ADD COLUMN mine text DEFAULT 'none';
    SELECT pgq_alter_handler('ev', priority => 'id % 3')});
# In more pieces than one, as the enqueuer makes them and as a worker completes them; and one by one.
$sql->(q{INSERT INTO ev(k) SELECT 'u' || i FROM generate_series(1, 12000) i; SELECT pgq_sync('60 s')});
indexes_are_whole('others have every job that the enqueuer has added');
is($sql->(q{
    WITH t AS (SELECT * FROM pgq_dequeue(11900, lease => '1 h'))
    SELECT count(*) FROM (SELECT array_agg(job_id), array_agg(attempt) FROM t) a (ids, attempts), pgq_complete(ids, attempts)}),
    11900, 'jobs are completed together');
is($sql->('SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(1000)'), 100, 'and one by one');
indexes_are_whole('and every one that is finished');
is($sql->(q{SET enable_seqscan = off; SELECT count(*) FROM pgq_archive WHERE args @> '{"k": "u7777"}'}), 1, 'of every kind');
$sql->('DROP INDEX mine_job; ALTER TABLE pgq_archive DROP COLUMN mine');

# One that is not complete yet is not read.
$sql->(q{INSERT INTO ev(k) VALUES ('half'); SELECT pgq_sync(); DROP INDEX pgq_job_ready});
my $writer = PsqlSession->new($node->connstr('postgres'));
my $builder = PsqlSession->new($node->connstr('postgres'));
$writer->query(q{BEGIN; LOCK TABLE pgq_job IN ROW EXCLUSIVE MODE});
$builder->send(q{CREATE INDEX CONCURRENTLY pgq_job_ready ON pgq_job (hashtext(queue), priority, position) WHERE state = 'r'});
$node->poll_query_until('postgres', q{SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass('pgq_job_ready')}) or die 'no index';
my (undef, $error) = $node->error_of('postgres', 'SELECT * FROM pgq_dequeue(1)');
like($error, qr/has no valid index "pgq_job_ready"/, 'a job is not looked for where it may be missing');
$writer->query('COMMIT');
$builder->query('SELECT');
is($sql->(q{SELECT args ->> 'k' FROM pgq_dequeue(1)}), 'half', 'but when the index is complete');

$_->quit foreach $writer, $builder;
$node->log_is_clean;
PgqNode::done();
