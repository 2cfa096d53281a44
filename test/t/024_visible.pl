# A commit can be read from the WAL before it is visible to others; a job must not be seen before its event. And commits
# with synchronous_commit = off can be waited for. (Points 4 and 12 of the traps of decoding in process.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

# Commits that take a while to become visible after they are in the WAL: they wait for a standby that isn't there. The
# enqueuer can read them long before they are visible, and must not make a job.
my $node = DecodeNode->create('visible', "autovacuum = off\n");
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial, k text);
    CREATE FUNCTION seen(bigint) RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM public.ev WHERE id = $1); END $$;
    SELECT pgq_create_handler('ev', 'ev', 'seen(id)::text', args => 'jsonb_build_object(''id'', id)');
    SELECT pgq_sync()});
my $pid = $node->enqueuer('postgres');
$node->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'}), 'commits wait for a standby');
my $writer = $node->background_psql('postgres', wait => 1);
$writer->query_until(qr/written/, qq{\\echo written\nINSERT INTO ev(k) VALUES ('slow');\n});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'}), 'a commit is in the WAL and not visible');
# The enqueuer's own commits don't wait, so nothing but this one holds it up: it has read the record, and waits.
ok($node->poll_query_until('postgres', qq{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid}), 'the enqueuer waits for it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgq_jobs'), 0, 'and there is no job');
$node->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
$node->reload;
$writer->quit;
$node->is_exact('postgres', 'ev', 'ev', 'true', 'when it is visible, so is the job');
is($node->safe_psql('postgres', 'SELECT serialization_key FROM pgq_jobs'), 1, 'and its handler has seen the row');

# Under load.
$node->append_conf('postgresql.conf', 'fsync = on');
$node->reload;
my $script = $node->basedir . '/insert.sql';
append_to_file($script, qq{\\set off random(0, 3)\n\\if :off = 0\nSET synchronous_commit = off;\n\\else\nSET synchronous_commit = on;\n\\endif\nINSERT INTO ev(k) VALUES ('load');\n});
command_ok(['pgbench', '-n', '-f', $script, '-c', 8, '-t', 400, '-d', $node->connstr('postgres')], 'eight writers');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'each commit is a job');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE serialization_key <> '1'}), 0, 'and each handler has seen the row it was given');

# Asynchronous commits are waited for at once: they are flushed for it, not found some time later.
my $ok = 0;
foreach my $round (1 .. 20)
{
    $ok += $node->safe_psql('postgres', qq{SET synchronous_commit = off; INSERT INTO ev(k) VALUES ('async $round'); SELECT pgq_sync();
        SELECT count(*) FROM pgq_jobs j JOIN ev ON j.args ->> 'id' = ev.id::text WHERE ev.k = 'async $round'}) =~ /1/;
}
is($ok, 20, 'pgq_sync waits for asynchronous commits');
is($node->enqueuer('postgres'), $pid, 'the enqueuer never restarted');

$node->log_is_clean;
PgqNode::done();
