# The server and the enqueuer crash again and again, under a load of savepoints, rollbacks, big rows, COPY, prepared
# transactions and DDL, with handlers that filter and handlers that raise. Afterwards each row of the sources is compared
# with what became of it. Nothing may be lost and nothing doubled, and the order must be that of the commits.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('crash', "autovacuum_naptime = 1s\nlog_statement = none\nmax_wal_size = 128MB\npgq_ext.decoding_work_mem = '256kB'\n");
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k int, n int, big text);
    CREATE TABLE parted(id bigserial, k int) PARTITION BY RANGE (k);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (4);
    CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (4) TO (100);
    SELECT pgq_create_handler('ev', 'ev', 'k', args => 'jsonb_build_object(''id'', id, ''k'', k, ''n'', n, ''big'', length(big))');
    SELECT pgq_create_handler('filtered', 'ev', filter => 'id % 3 = 0', args => 'jsonb_build_object(''id'', id)');
    SELECT pgq_create_handler('raises', 'ev', '(1 / (id % 7))::text', args => 'jsonb_build_object(''id'', id)');
    SELECT pgq_create_handler('parted', 'parted', 'k');
    CREATE TABLE counter(k int PRIMARY KEY, n int);
    INSERT INTO counter SELECT i, 0 FROM generate_series(0, 7) i});

# Each client has a key of its own, and numbers its rows in it: so the order of its commits is known.
my $script = $node->basedir . '/load.sql';
append_to_file($script, q{
\set roll random(1, 100)
BEGIN;
UPDATE counter SET n = n + 10 WHERE k = :client_id;
INSERT INTO ev(k, n, big) SELECT k, n, CASE WHEN :roll > 90 THEN (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i) END
  FROM counter WHERE k = :client_id;
SAVEPOINT a;
INSERT INTO ev(k, n) SELECT k, n + 1 FROM counter WHERE k = :client_id;
\if :roll < 30
ROLLBACK TO a;
\endif
SAVEPOINT b;
INSERT INTO ev(k, n) SELECT k, n + 2 FROM counter WHERE k = :client_id;
RELEASE b;
INSERT INTO parted(k) VALUES (:client_id);
UPDATE parted SET k = 7 - k WHERE id = currval('parted_id_seq') AND :roll > 50;
\if :roll < 5
INSERT INTO ev(k, n) SELECT k, n + 3 FROM counter, generate_series(1, 300) WHERE k = :client_id;
\endif
\if :roll % 10 = 0
ROLLBACK;
\else
COMMIT;
\endif
\if :roll % 20 = 1
SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(20);
\endif
});
my @ddl = (
    'ALTER TABLE ev ADD COLUMN c%d int DEFAULT 1', 'VACUUM FULL pgq_job', 'CREATE TABLE parted_x%d PARTITION OF parted FOR VALUES FROM (1%d0) TO (1%d1)',
    'ALTER TABLE ev DROP COLUMN IF EXISTS c1', 'VACUUM FULL ev', q{SELECT pgq_alter_handler('ev', priority => '%d')});

foreach my $cycle (1 .. 6)
{
    my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM ev');
    my $load = IPC::Run::start(['pgbench', '-n', '-f', $script, '-c', 8, '-T', 60, '-d', $node->connstr('postgres')],
        '<', '/dev/null', '>', $node->basedir . '/load.log', '2>&1');
    $node->poll_query_until('postgres', "SELECT count(*) > $before + 300 FROM ev");
    my $statement = $ddl[$cycle - 1];
    $statement =~ s/%d/$cycle/g;
    $node->safe_psql('postgres', "SET lock_timeout = '10s'; $statement");
    $node->poll_query_until('postgres', "SELECT count(*) > $before + 900 FROM ev");
    if ($cycle % 2)
    {
        $node->stop('immediate');
        $load->finish;
        $node->start;
    }
    else
    {
        # The death of the enqueuer by a signal takes the whole server down, as that of any server process does.
        my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pgq_ext enqueuer'});
        kill 'KILL', $pid if $pid;
        $load->finish;
        $node->poll_query_until('postgres', 'SELECT true');
    }
}
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM ev'), '>', 5000, 'there were events');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'after six crashes: each row one job');
$node->is_exact('postgres', 'ev', 'filtered', 'id % 3 = 0', 'the same of a handler with a filter');
$node->is_exact('postgres', 'ev', 'raises', 'true', 'and of one that raises, with the event errors');
is($node->safe_psql('postgres', q{SELECT count(*) - count(*) FILTER (WHERE (event ->> 'id')::int % 7 = 0) FROM pgq_event_errors}), 0, 'which it raises where it should');
$node->is_exact('postgres', 'parted', 'parted', 'true', 'and rows that moved to another partition');
is($node->safe_psql('postgres', q{
    SELECT count(*) FROM (SELECT (args ->> 'n')::int AS n, lag((args ->> 'n')::int) OVER (PARTITION BY args -> 'k' ORDER BY position) AS before
      FROM pgq_jobs WHERE handler = 'ev') j WHERE n < before}), 0, 'each key in the order of its commits');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs j JOIN ev ON ev.id = (j.args ->> 'id')::bigint
    WHERE handler = 'ev' AND (j.args ->> 'big')::int IS DISTINCT FROM length(ev.big)}), 0, 'big values in full');

$node->log_has_no_panic;
PgqNode::done();
