# What is rare: databases in other encodings, an expression that never ends while somebody wants the enqueuer to go, DDL
# and sources that deadlock, storms of invalidations, thousands of subtransactions across a restart, and WAL that is gone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('hard', "autovacuum = off\npgq_ext.expression_timeout = 0\nwal_keep_size = 0\n");

# Keys are kept byte for byte, and a value that the encoding can't show as JSON is one event's error.
foreach my $encoding ('LATIN1', 'SQL_ASCII', 'EUC_JP')
{
    my $database = lc "t_$encoding";
    $node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
    $node->safe_psql($database, q{
        CREATE EXTENSION pgq_ext;
        CREATE TABLE ev(id serial, k text, body json);
        SELECT pgq_create_handler('ev', 'ev', 'k', args => 'body::jsonb');
        SELECT pgq_sync();
        INSERT INTO ev(k, body) VALUES ('ok', '{"a": 1}')});
}
$node->safe_psql('t_latin1', q{SET client_encoding = latin1; INSERT INTO ev(k, body) VALUES (E'caf\xe9', '{}'); SELECT pgq_sync()});
is($node->safe_psql('t_latin1', q{SELECT count(*) FROM pgq_jobs WHERE serialization_key IN ('caf' || chr(233), 'ok')}), 2, 'LATIN1');
$node->safe_psql('t_sql_ascii', q{SET client_encoding = sql_ascii;
    INSERT INTO ev(k, body) VALUES (E'\xe9\xff', '{"a":1}'), ('bad', E'{"a":"\\\\u00e9"}'), ('last', '{}'); SELECT pgq_sync()});
is($node->safe_psql('t_sql_ascii', q{SELECT string_agg(encode(serialization_key::bytea, 'hex'), ' ' ORDER BY position) FROM pgq_jobs}),
    '6f6b e9ff 6c617374', 'SQL_ASCII: each byte is kept');
is($node->safe_psql('t_sql_ascii', q{SELECT count(*), count(event) FROM pgq_event_errors}), '1|0', 'and one event is an error');
$node->safe_psql('t_euc_jp', q{SET client_encoding = utf8; INSERT INTO ev(k, body) VALUES (U&'\65e5\672c', '{}'); SELECT pgq_sync()});
is($node->safe_psql('t_euc_jp', q{SELECT octet_length(serialization_key) FROM pgq_jobs WHERE serialization_key <> 'ok'}), 4, 'EUC_JP');

# Without a time limit an expression may run for ever; the enqueuer answers all the same, and begins again.
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k text);
    CREATE TABLE gate(open boolean);
    INSERT INTO gate VALUES (false);
    CREATE FUNCTION slow(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        IF $1 = 'busy' THEN
            LOOP
                EXIT WHEN (SELECT open FROM public.gate);
            END LOOP;
        END IF;
        RETURN $1;
    END $$;
    SELECT pgq_create_handler('ev', 'ev', 'slow(k)');
    SELECT pgq_sync()});
my $pid = $node->enqueuer('postgres');
$node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('busy'), ('behind')});
ok($node->poll_query_until('postgres', "SELECT state = 'active' AND backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = $pid"), 'an expression that does not end');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'the enqueuer can be terminated');
$node->stop('fast');
pass('and the server stopped');
$node->start;
$node->safe_psql('postgres', 'UPDATE gate SET open = true');
$node->is_exact('postgres', 'ev', 'ev', 'true', 'afterwards its event is a job');

# Writers and DDL on the source, with a definition in the same transaction: no deadlock with the enqueuer, nothing lost.
my $script = $node->basedir . '/insert.sql';
append_to_file($script, qq{INSERT INTO ev(k) VALUES ('l' || :client_id);\n});
my $load = IPC::Run::start(['pgbench', '-n', '-f', $script, '-c', 4, '-t', 500, '-d', $node->connstr('postgres')],
    '<', '/dev/null', '>', $node->basedir . '/load.log', '2>&1');
foreach my $round (1 .. 25)
{
    $node->safe_psql('postgres', qq{SET deadlock_timeout = '100ms'; BEGIN; LOCK TABLE ev IN ACCESS EXCLUSIVE MODE;
        ALTER TABLE ev ADD COLUMN c$round int; SELECT pgq_alter_handler('ev', priority => '0'); COMMIT});
}
$load->finish;
$node->is_exact('postgres', 'ev', 'ev', 'true', 'DDL on the source between its writers');
is($node->safe_psql('postgres', 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'), 0, 'without a deadlock');

# A storm of temporary tables, and thousands of subtransactions that are open while the enqueuer is started anew.
$node->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1..1000 LOOP EXECUTE 'CREATE TEMP TABLE x' || i || '(a int, b text) ON COMMIT DROP'; END LOOP; END $$});
$node->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('after the storm')});
$node->is_exact('postgres', 'ev', 'ev', 'true', 'a storm of catalog changes');
my $subs = $node->background_psql('postgres');
$subs->query_safe('BEGIN; ' . join ' ', map { "SAVEPOINT s$_; INSERT INTO ev(k) VALUES ('sub');" } 1 .. 1000);
$pid = $node->enqueuer('postgres');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$node->enqueuer('postgres', $pid);
$subs->query_safe('COMMIT');
$subs->quit;
$node->is_exact('postgres', 'ev', 'ev', 'true', 'a thousand subtransactions over a restart of the enqueuer');

$node->is_consistent('postgres');

# The slot is invalidated, as too much WAL had to be kept, and the WAL is gone. What committed since is found in the
# tables; that is said, with the stretch that it is about, and all goes on behind it.
$node->append_conf('postgresql.conf', "max_slot_wal_keep_size = 16MB\nmax_wal_size = 48MB\nmin_wal_size = 32MB\n");
$node->reload;
$node->safe_psql('postgres', q{UPDATE gate SET open = false; SELECT pgq_sync(); CREATE TABLE filler(a text); INSERT INTO ev(k) VALUES ('busy')});
foreach my $round (1 .. 8)
{
    $node->safe_psql('postgres', q{INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 10000); SELECT pg_switch_wal()});
    $node->safe_psql('postgres', 'CHECKPOINT');
}
ok($node->poll_query_until('postgres', q{SELECT pg_walfile_name(last_lsn) NOT IN (SELECT name FROM pg_ls_waldir()) FROM pgq_progress}), 'WAL that the enqueuer needs is gone');
$node->safe_psql('postgres', 'UPDATE gate SET open = true');
$node->wait_for_log(qr/WARNING:  events committed between .* were recovered from the tables alone/);
pass('the gap is in the log');
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s'); INSERT INTO ev(k) VALUES ('behind the gap'); SELECT pgq_sync('60 s')});
$node->is_exact('postgres', 'ev', 'ev', 'true', 'nothing is missing, and behind it all goes on');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 4 FROM pg_replication_slots WHERE wal_status <> 'lost' AND active}), 'with a new slot in each database');

$node->log_is_clean;
PgqNode::done();
