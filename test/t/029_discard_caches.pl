# Whatever can be thrown out of the server's caches is thrown out each time that it may be: who goes on with what he has got
# from a cache reads freed memory then. Only a server with assertions can do that: make test-checked.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('discard');
if ($node->safe_psql('postgres', 'SHOW debug_assertions') ne 'on')
{
    $node->stop('immediate');
    plan skip_all => 'the server has no assertions';
}
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id serial, k text, big text);
    ALTER TABLE ev ALTER COLUMN big SET STORAGE EXTERNAL;
    CREATE TABLE parted(id int, p int) PARTITION BY LIST (p);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
    CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
    SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k', args => $$jsonb_build_object('id', id, 'l', length(big))$$);
    SELECT pgq_create_handler('raises', 'ev', filter => '1 / (id % 3) > 5', args => $$jsonb_build_object('id', id)$$);
    SELECT pgq_create_handler('parted', 'parted');
    SELECT pgq_sync('60 s')});

# From here on all sessions discard, and the enqueuer, which starts anew with it, too.
my $pid = $node->enqueuer('postgres');
$node->safe_psql('postgres', "ALTER DATABASE postgres SET debug_discard_caches = 1; SELECT pg_terminate_backend($pid)");
$pid = $node->enqueuer('postgres', $pid);
my $insert = q{INSERT INTO ev (k, big) SELECT 'k' || i % 3, repeat('x', 5000) FROM generate_series(1, 10) i};
$node->safe_psql('postgres', qq{
    $insert;
    INSERT INTO parted VALUES (1, 1), (2, 2);
    UPDATE parted SET p = 2;
    SELECT pgq_sync('10 min');
    SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(3);
    SELECT pgq_fail(job_id, attempt, 'x') FROM pgq_dequeue(3);
    SELECT pgq_alter_handler('ev', priority => '3');
    $insert;
    SELECT pgq_enqueue('direct', '{}', idempotency_key => 'i'), pgq_enqueue('direct', '{}', run_at => now() + '1 s');
    SELECT pgq_sync('10 min');
    SELECT pgq_cancel(job_id) FROM pgq_jobs WHERE status = 'pending' LIMIT 1;
    SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(30);
    SELECT pgq_drop_handler('parted');
    SELECT pgq_sync('10 min')});

is($node->enqueuer('postgres'), $pid, 'the enqueuer stands it');
is($node->safe_psql('postgres', 'SHOW debug_discard_caches'), '1', 'caches were discarded');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'each event is one job');
$node->is_exact('postgres', 'ev', 'raises', 'id % 3 = 0', 'or one event error');
$node->is_exact('postgres', 'parted', 'parted', 'true', 'or one of a partition');
$node->is_consistent('postgres');
$node->log_is_clean;
$node->stop;
PgqNode::done();
