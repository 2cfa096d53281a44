# Too few worker slots: said once and where one looks, retried, and nobody else's enqueuer suffers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

# The launcher, the server's own logical replication launcher, and one enqueuer.
my $node = PgqNode->create('worker_slots', 'max_worker_processes = 3');

# At start the launcher looks into each database, one after the other: one free slot is enough for it.
$node->safe_psql('postgres', "CREATE DATABASE plain_$_") foreach (1 .. 4);
$node->safe_psql('plain_4', 'CREATE EXTENSION pgq_ext');
$node->restart;
$node->safe_psql('plain_4', 'SELECT pgq_sync()');
$node->safe_psql('plain_4', 'DROP EXTENSION pgq_ext');
$node->await_enqueuers();
$node->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');
$node->safe_psql('postgres', 'SELECT pgq_sync()');
unlike(slurp_file($node->logfile), qr/HINT:  Raise max_worker_processes/, 'one free slot is enough to look into all databases');
my $pid = $node->enqueuer('postgres');

foreach my $database ('second', 'third')
{
    $node->safe_psql('postgres', "CREATE DATABASE $database");
    $node->safe_psql($database, 'CREATE EXTENSION pgq_ext');
    ok($node->poll_query_until($database, q{SELECT last_error ~ 'max_worker_processes' AND state = 'failed' FROM pgq_enqueuer}),
        "$database: the view names the setting");
}
my ($sqlstate, $message) = $node->error_of('second', q{SELECT pgq_sync('3 s')});
is($sqlstate, '57014', 'pgq_sync times out');
like($message, qr/HINT:.*last_error/, 'and says where to look');
is($node->enqueuer('postgres'), $pid, 'the enqueuer that runs is left alone');

my @said = slurp_file($node->logfile) =~ /(HINT:  Raise max_worker_processes, which is 3)/g;
is(scalar @said, 1, 'the log says it once');

# A slot becomes free, and is taken.
$node->safe_psql('postgres', 'DROP EXTENSION pgq_ext');
ok($node->poll_query_until('postgres',
    q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pgq_ext enqueuer' AND datname <> 'postgres'}),
    'a free slot is taken');

$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;
$node->safe_psql($_, 'SELECT pgq_sync()') foreach ('second', 'third');
$node->await_enqueuers('second', 'third');
pass('with enough slots all run');

$node->log_is_clean;
PgqNode::done();
