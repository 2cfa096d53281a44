# While the enqueuer lags, tables change under it: VACUUM FULL and CLUSTER give them other files, ALTER TABLE other
# shapes. What it decodes it must see as it was, and what it writes must go where the tables are now: SeparateCaches in
# src/decode/decoder.cpp, and src/decode/skip.cpp, which skips our own tables' records. See doc/architecture.md.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

# A transaction of more rows than a batch makes the enqueuer write while it still lags.
my $batch = 12000;

my $node = DecodeNode->create('rewrites', 'autovacuum = off');
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k text, big text);
    CREATE TABLE filler(id bigserial, k text);
    SELECT pgq_create_handler('ev', 'ev', 'k', args => 'jsonb_build_object(''id'', id, ''k'', k)');
    SELECT pgq_create_handler('filler', 'filler', args => 'jsonb_build_object(''id'', id)');
    SELECT pgq_create_queue('idle')});
$node->safe_psql('postgres', q{INSERT INTO ev(k) SELECT 'k' || i % 3 FROM generate_series(1, 10) i});

# The job table gets a second file, in which rows are changed (so that decoding looks at it), and then a third one. In
# between there is enough to write for a batch.
my $pid = $node->freeze('postgres');
$node->safe_psql('postgres', q{
    INSERT INTO ev(k) SELECT 'k' || i % 3 FROM generate_series(1, 10) i;
    SELECT count(*) FROM pgq_dequeue(2)});
$node->safe_psql('postgres', "VACUUM FULL $_") foreach ('pgq_job', 'pgq_archive', 'pgq_progress', 'pgq_request', 'pgq_handler', 'pgq_active_handler');
$node->safe_psql('postgres', q{
    SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(1);
    SELECT pgq_enqueue('direct', '{"id": 1}');
    UPDATE pgq_progress SET next_position = next_position;
    INSERT INTO ev(k) SELECT 'k' || i % 3 FROM generate_series(1, 10) i});
$node->safe_psql('postgres', "INSERT INTO filler(k) SELECT 'f' FROM generate_series(1, $batch)");
$node->safe_psql('postgres', "VACUUM FULL $_") foreach ('pgq_job', 'pgq_archive', 'pgq_progress', 'pgq_event_error', 'pgq_active_handler');
$node->safe_psql('postgres', 'CLUSTER pgq_job USING pgq_job_pkey');
$node->safe_psql('postgres', q{INSERT INTO ev(k) SELECT 'k' || i % 3 FROM generate_series(1, 10) i});
$node->thaw($pid);
$node->is_exact('postgres', 'ev', 'ev', 'true', 'nothing goes into a file that VACUUM FULL has replaced');
$node->is_exact('postgres', 'filler', 'filler', 'true', 'not the jobs of the batch in between');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE handler = 'direct'}), 1, 'nor of pgq_enqueue');
is($node->enqueuer('postgres'), $pid, 'the enqueuer took it in its stride');

# The source is rewritten and reshaped, with rows in front, between and behind, in the same transaction and in others.
$pid = $node->freeze('postgres');
$node->safe_psql('postgres', q{
    INSERT INTO ev(k, big) SELECT 'before', string_agg(md5(i::text), '') FROM generate_series(1, 1000) i;
    VACUUM FULL ev});
$node->safe_psql('postgres', q{
    BEGIN;
    INSERT INTO ev(k) VALUES ('within 1');
    ALTER TABLE ev ADD COLUMN r float8 DEFAULT random(), DROP COLUMN big;
    INSERT INTO ev(k) VALUES ('within 2');
    ALTER TABLE ev RENAME COLUMN k TO key;
    INSERT INTO ev(key) VALUES ('within 3');
    COMMIT;
    CLUSTER ev USING ev_pkey});
$node->safe_psql('postgres', "INSERT INTO filler(k) SELECT 'f' FROM generate_series(1, $batch)");
$node->safe_psql('postgres', q{
    ALTER TABLE ev RENAME TO ev2;
    VACUUM FULL pg_class;
    INSERT INTO ev2(key) VALUES ('behind')});
$node->thaw($pid);
$node->is_exact('postgres', 'ev2', 'ev', 'true', 'rows in front of, within and behind rewrites of the source are events once');
is($node->safe_psql('postgres', q{
    SELECT string_agg(args ->> 'k', ', ' ORDER BY position) FROM pgq_jobs WHERE handler = 'ev' AND args ->> 'k' !~ '^k[0-9]'}),
    'before, within 1, within 2, within 3, behind', 'with the values they were written with');

# TRUNCATE of our own tables, as an operator may do it to the archive or the errors, makes files that are not known to be
# skipped; and ON CONFLICT on a skipped table must not leave half of a speculative insertion behind.
$pid = $node->freeze('postgres');
$node->safe_psql('postgres', q{
    TRUNCATE pgq_archive, pgq_event_error;
    SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue(2);
    INSERT INTO pgq_queue SELECT * FROM pgq_queue WHERE queue = 'idle' ON CONFLICT (queue) DO UPDATE SET lease = '1 min';
    INSERT INTO pgq_queue VALUES ('conflict', 1, '1 s', '1 s', '1 s') ON CONFLICT DO NOTHING;
    INSERT INTO pgq_idempotency VALUES ('q', 'k', 1), ('q', 'k2', 2) ON CONFLICT DO NOTHING;
    DELETE FROM pgq_idempotency WHERE queue = 'q';
    SELECT pgq_enqueue('direct', '{"id": 2}', idempotency_key => 'twice'), pgq_enqueue('direct', '{"id": 3}', idempotency_key => 'twice');
    INSERT INTO ev2(key) VALUES ('after conflict')});
$node->thaw($pid);
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE args ->> 'k' = 'after conflict'}), 1,
    'after TRUNCATE and ON CONFLICT on our own tables the stream goes on');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE handler = 'direct'}), 2, 'with one job for one idempotency key');
is($node->enqueuer('postgres'), $pid, 'without a restart');

$node->log_is_clean;
PgqNode::done();
