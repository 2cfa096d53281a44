# What runs out while the enqueuer needs none of it, or finds it again later: connections, and room for a temporary file.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('exhausted', "max_connections = 5\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0\n");
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev (id bigserial PRIMARY KEY, k text, body text);
    SELECT pgq_create_handler('ev', 'ev', 'k');
    SELECT pgq_sync('60 s')});

# Every connection is taken, the database is closed to all but superusers, and the owner may not log in: an enqueuer that
# has to be started anew needs none of that.
my $pid = $node->enqueuer('postgres');
my $role = $node->safe_psql('postgres', 'SELECT quote_ident(current_user)');
my @sessions = map { $node->background_psql('postgres') } 1 .. 5;
$sessions[0]->query_safe(qq{ALTER DATABASE postgres CONNECTION LIMIT 0; REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
    ALTER ROLE $role NOLOGIN});
my (undef, undef, $refused) = $node->psql('postgres', 'SELECT 1');
like($refused, qr/too many clients/, 'no connection is to be had');
$sessions[1]->query_safe("SELECT pg_terminate_backend($pid)");
$sessions[2]->query_safe(q{INSERT INTO ev (k) VALUES ('a'), ('b')});
is($sessions[3]->query_safe(qq{SELECT pgq_sync('60 s'); SELECT (SELECT pid <> $pid FROM pgq_enqueuer), count(*) FROM pgq_jobs}), "\nt|2",
    'a new enqueuer converts what comes then');
$sessions[4]->query_safe(qq{ALTER ROLE $role LOGIN; ALTER DATABASE postgres CONNECTION LIMIT -1});
$_->quit foreach @sessions;

# No file may grow beyond this by the enqueuer, as when the disk is full: the batch that needs it fails, and is
# converted once there is room again, which its successor has. Segments of WAL are smaller.
$pid = $node->enqueuer('postgres');
system_or_bail('prlimit', '--pid', $pid, '--fsize=' . 17 * 1024 * 1024 . ':');
$node->safe_psql('postgres', q{INSERT INTO ev (k, body) SELECT 'k' || i % 10, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 55) j)
    FROM generate_series(1, 20000) i});
$node->wait_for_log(qr/ERROR:  could not (write|extend) .*: File too large/);
$node->enqueuer('postgres', $pid);
$node->is_exact('postgres', 'ev', 'ev', 'true', 'nothing is lost or doubled by a write that failed');
like($node->safe_psql('postgres', 'SELECT last_error FROM pgq_enqueuer'), qr/File too large/, 'and the view says what it was');

$node->log_is_clean;
PgqNode::done();
