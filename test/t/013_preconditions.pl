# What keeps an enqueuer from running is said, and never hung on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('preconditions', "shared_preload_libraries = ''");

sub check
{
    my ($what, $state, $hint) = @_;
    my ($code, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION pgq_ext');
    is($code, 0, "$what: CREATE EXTENSION succeeds");
    like($err, qr/WARNING:.*no enqueuer can run.*HINT:.*$hint/s, "$what: and warns");

    is($node->safe_psql('postgres', 'SELECT state, pid, count(*) OVER () FROM pgq_enqueuer'),
        "$state||1", "$what: the view says so");
    my ($sqlstate, $message) = $node->error_of('postgres', q{SELECT pgq_sync('1 h')});
    is($sqlstate, '55000', "$what: pgq_sync fails at once");
    like($message, qr/HINT:.*$hint/, "$what: with a hint");
    $node->safe_psql('postgres', 'DROP EXTENSION pgq_ext');
    is($node->slots, '', "$what: no slot");
}

check('no preload', 'not in shared_preload_libraries', 'shared_preload_libraries');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pgq_ext'\nwal_level = replica");
$node->restart;
$node->wait_for_log(qr/starts no enqueuer because wal_level is lower than logical/);
check('wal_level', 'wal_level is not logical', 'wal_level');
$node->processes_are('', 'nothing of ours runs, so nothing can fail and be started again');

$node->append_conf('postgresql.conf', "wal_level = logical\nmax_replication_slots = 0");
$node->restart;
{
    my ($code, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION pgq_ext');
    like($err, qr/HINT:.*max_replication_slots/, 'max_replication_slots: CREATE EXTENSION warns');
}

# Databases that were there before the settings were right are found.
$node->append_conf('postgresql.conf', 'max_replication_slots = 10');
$node->restart;
$node->safe_psql('postgres', 'SELECT pgq_sync()');
$node->processes_are('pgq_ext enqueuer postgres, pgq_ext launcher', 'with all settings right, all is well');

# Arguments.
foreach my $case ([ 'NULL', '22004' ], [ q{'0 s'}, '22023' ], [ q{'-1 s'}, '22023' ], [ q{'1 day -25 h'}, '22023' ])
{
    my ($sqlstate, $message) = $node->error_of('postgres', "SELECT pgq_sync($case->[0])");
    is($sqlstate, $case->[1], "pgq_sync($case->[0])");
    like($message, qr/timeout/, 'names the argument');
}
$node->safe_psql('postgres', q{SELECT pgq_sync('1000000 years')});
$node->safe_psql('postgres', q{SET default_transaction_read_only = on; SELECT pgq_sync()});

# A commit that isn't flushed yet is waited for, too.
$node->safe_psql('postgres', q{SET synchronous_commit = off; CREATE TABLE t(); SELECT pgq_sync()});

# A slot can't be made while the caller's own transaction runs.
$node->safe_psql('postgres', 'CREATE DATABASE waiting');
my $writing = $node->background_psql('waiting', on_error_stop => 0);
$writing->query_safe('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('waiting', 'CREATE EXTENSION pgq_ext');
ok($node->poll_query_until('waiting', q{SELECT state = 'creating slot' FROM pgq_enqueuer}),
    'the enqueuer waits for the transactions that were there before it');
$writing->query(q{SELECT pgq_sync('1 s')});
like($writing->{stderr}, qr/ERROR:  timeout.*HINT:.*commit it/s, 'waiting for oneself times out, with a hint');
$writing->{stderr} = '';
$writing->query('ROLLBACK');
$writing->quit;
$node->safe_psql('waiting', 'SELECT pgq_sync()');

$node->log_is_clean;
PgqNode::done();
