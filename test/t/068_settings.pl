# Settings that somebody has made for the database, for a role, or for the server, and that are not meant for the enqueuer:
# it converts all the same, without an error, and what it writes looks the same.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('settings');
$node->safe_psql('postgres', 'CREATE DATABASE hostile');
$node->safe_psql('postgres', 'CREATE ROLE nobody');

# The times are such that anything which takes time is struck.
my %hostile = (
    statement_timeout => "'1ms'",
    lock_timeout => "'1ms'",
    idle_in_transaction_session_timeout => "'1ms'",
    idle_session_timeout => "'1ms'",
    default_transaction_read_only => 'on',
    default_transaction_isolation => 'serializable',
    default_transaction_deferrable => 'on',
    temp_file_limit => "'64kB'",
    work_mem => "'64kB'",
    search_path => 'planted, nowhere',
    role => 'nobody',
    row_security => 'off',
    session_replication_role => 'replica',
    enable_indexscan => 'off',
    plan_cache_mode => 'force_generic_plan',
    track_counts => 'off',
    TimeZone => "'Pacific/Chatham'",
    DateStyle => "'SQL, DMY'",
    IntervalStyle => 'iso_8601',
    bytea_output => 'escape',
    extra_float_digits => '-15',
    xmlbinary => 'hex',
    standard_conforming_strings => 'off',
    quote_all_identifiers => 'on');
my $harmless = join ' ', map { "-c $_" } 'statement_timeout=0', 'lock_timeout=0', 'idle_in_transaction_session_timeout=0',
  'idle_session_timeout=0', 'default_transaction_read_only=off', 'default_transaction_isolation=read\ committed',
  'default_transaction_deferrable=off', 'temp_file_limit=-1', 'search_path=public', 'role=none', 'row_security=on',
  'session_replication_role=origin', 'TimeZone=UTC', 'standard_conforming_strings=on';

$node->safe_psql('hostile', q{
    CREATE EXTENSION pgq_ext;
    CREATE SCHEMA planted;
    CREATE FUNCTION planted.upper(text) RETURNS text LANGUAGE sql AS $$ SELECT 'planted' $$;
    CREATE TABLE ev (id bigserial PRIMARY KEY, k text, body text, t timestamptz, d date, i interval, b bytea, f float8);
    SELECT pgq_create_handler('ev', 'ev', 'upper(k)', args => $$jsonb_build_object('id', id, 'shown', format('%s %s %s %s %s', t, d, i, b, f))$$);
    SELECT pgq_sync('60 s')});

my $role = $node->safe_psql('postgres', 'SELECT current_user');
my %scopes = (
    'the database' => "ALTER DATABASE hostile SET %s = %s",
    'all roles' => "ALTER ROLE ALL SET %s = %s",
    'the role' => "ALTER ROLE $role IN DATABASE hostile SET %s = %s",
    'the server' => "ALTER SYSTEM SET %s = %s");
my %resets = (
    'the database' => 'ALTER DATABASE hostile RESET ALL',
    'all roles' => 'ALTER ROLE ALL RESET ALL',
    'the role' => "ALTER ROLE $role IN DATABASE hostile RESET ALL",
    'the server' => 'ALTER SYSTEM RESET ALL');

$ENV{PGOPTIONS} = $harmless;
foreach my $scope (sort keys %scopes)
{
    # A role can't be chosen for the server.
    my @names = grep { $_ ne 'role' || $scope ne 'the server' } sort keys %hostile;
    $node->safe_psql('postgres', join ";\n", map { sprintf $scopes{$scope}, $_, $hostile{$_} } @names) if $scope ne 'the server';
    $node->append_conf('postgresql.conf', join '', map { "$_ = $hostile{$_}\n" } @names) if $scope eq 'the server';
    $node->reload;
    my $old = $node->enqueuer('hostile');
    $node->safe_psql('postgres', "SELECT pg_terminate_backend($old)");
    my $pid = $node->enqueuer('hostile', $old);

    # More than fits into memory; one that waits for a lock; and one that becomes due.
    $node->safe_psql('hostile', q{INSERT INTO ev (k, body) SELECT 'k' || i, repeat(md5(i::text), 40) FROM generate_series(1, 20000) i});
    my $locker = $node->background_psql('hostile');
    $locker->query_safe('BEGIN; LOCK TABLE pgq_progress IN SHARE MODE');
    $node->safe_psql('hostile', q{INSERT INTO ev (k, t, d, i, b, f)
        VALUES ('shown', '2001-02-03 04:05:06Z', '2001-02-03', '1 day 2:03', '\x0aff', 0.1::float8 + 0.2)});
    $node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid")
      or die 'the enqueuer does not wait';
    $locker->query_safe('COMMIT');
    $locker->quit;
    $node->safe_psql('hostile', q{SELECT pgq_enqueue('due', '1', 'k', run_at => clock_timestamp() + '10 ms')});
    $node->is_exact('hostile', 'ev', 'ev', 'true', "$scope: each event is a job");
    is($node->safe_psql('hostile', q{SELECT serialization_key, args ->> 'shown' FROM pgq_jobs WHERE args ->> 'shown' <> '    ' ORDER BY position DESC LIMIT 1}),
        'SHOWN|2001-02-03 04:05:06+00 2001-02-03 1 day 02:03:00 \x0aff 0.30000000000000004', "$scope: values look as ever");
    $node->poll_query_until('hostile', q{SELECT count(*) = 0 FROM pgq_jobs WHERE handler = 'due' AND position IS NULL})
      or die 'what is scheduled is not placed';
    is($node->enqueuer('hostile'), $pid, "$scope: the enqueuer has not ended");

    # A clone holds the jobs before anything else.
    $node->safe_psql('postgres', 'CREATE DATABASE clone TEMPLATE hostile');
    $node->enqueuer('clone');
    is($node->safe_psql('clone', q{SELECT pgq_sync('60 s'); SELECT count(*) FROM pgq_dequeue(10)}), "\n0", "$scope: a clone's jobs are held");
    $node->safe_psql('postgres', 'DROP DATABASE clone');
    $node->safe_psql('postgres', $resets{$scope});
}

$node->log_is_clean;
PgqNode::done();
