# Each hot statement has one access path, whatever the statistics say and the user sets: the same scans of the same indexes,
# never one of a table, and few buffers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $jobs = 20000;
my $node = PgqNode->create('plans', 'autovacuum = off');

# What this transaction has scanned of our tables, as "index n, ..."; a table's own name stands for a scan of the whole of it.
# In how many ranges a claim reads the index of ready jobs is a matter of the marks. read(): the buffers that it has read of
# them, or found.
$node->safe_psql('postgres', <<'EOF_SQL');
CREATE VIEW ours AS
    SELECT oid, relname FROM pg_class WHERE relname LIKE 'pgq\_%' AND relkind IN ('r', 'i') AND relname NOT LIKE 'pgq\_handler\_%';
CREATE FUNCTION path() RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(CASE relname WHEN 'pgq_job_ready' THEN relname ELSE format('%s %s', relname, pg_stat_get_xact_numscans(oid)) END, ', ' ORDER BY relname), 'none')
      FROM ours WHERE pg_stat_get_xact_numscans(oid) > 0 $$;
CREATE FUNCTION read() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) FROM ours $$;
CREATE TABLE ev(id serial, k text);
CREATE TABLE hand(n serial, job_id bigint, attempt int);
EOF_SQL

# The statements in their order, and what they do beside, which is not measured. Each job of 11 has a successor in its key.
# Those that are given back are given back for an hour: so every round finds jobs like those of the one before.
my $one = 'SELECT job_id, attempt FROM hand ORDER BY n LIMIT 1';
my $took = 'DELETE FROM hand WHERE n = (SELECT min(n) FROM hand)';
my @statements = (
    { name => 'enqueue', sql => q{SELECT pgq_enqueue('asked', '{}', 'key', idempotency_key => gen_random_uuid()::text)} },
    { name => 'dequeue', sql => 'INSERT INTO hand(job_id, attempt) SELECT job_id, attempt FROM pgq_dequeue(11)' },
    { name => 'extend', sql => "SELECT pgq_extend(job_id, attempt) FROM ($one) one" },
    { name => 'release', sql => "SELECT pgq_release(job_id, attempt, '1 hour') FROM ($one) one", after => $took },
    { name => 'fail', sql => "SELECT pgq_fail(job_id, attempt, 'no', '1 hour') FROM ($one) one", after => $took },
    { name => 'complete', sql => "SELECT pgq_complete(job_id, attempt) FROM ($one) one", after => $took },
    { name => 'complete again', sql => 'SELECT pgq_complete(job_id, attempt) FROM done' },
    { name => 'next', sql => 'INSERT INTO hand(job_id, attempt) SELECT claimed.job_id, claimed.attempt FROM (SELECT array_agg(job_id) AS ids, array_agg(attempt) AS attempts FROM hand) done, pgq_next(ids, attempts, 11) claimed',
      after => 'DELETE FROM hand WHERE n NOT IN (SELECT n FROM hand ORDER BY n DESC LIMIT 11)' },
    { name => 'complete an array', sql => 'SELECT count(*) FROM (SELECT array_agg(job_id) AS ids, array_agg(attempt) AS attempts FROM hand) batch, pgq_complete(ids, attempts)',
      after => 'DELETE FROM hand' });

# What each may scan, beside the queue's row.
my %may_scan = (
    'enqueue' => qr/^pgq_(queue_pkey|idempotency_pkey)$/,
    'dequeue' => qr/^pgq_(queue_pkey|job_ready)$/,
    'complete' => qr/^pgq_job_(pkey|key)$/,
    'complete an array' => qr/^pgq_job_(pkey|key)$/,
    'next' => qr/^pgq_(queue_pkey|job_(pkey|key|ready))$/,
    'complete again' => qr/^pgq_(job_pkey|archive_job_id)$/);

# Runs all statements once in one session, each prepared and in a transaction of its own, and returns what each has scanned
# and read.
sub run_statements
{
    my $flush = 'SELECT pg_stat_force_next_flush()'; # what is counted for a transaction goes on until the next flush
    my $script = '';
    foreach my $statement (@statements)
    {
        my $after = $statement->{after} // 'SELECT';
        $script .= "CREATE TEMP TABLE done AS $one;\n" if $statement->{name} eq 'complete';
        $script .= "PREPARE statement AS $statement->{sql};\n";
        $script .= "\\o /dev/null\nBEGIN;\nEXECUTE statement;\n\\o\n";
        $script .= "SELECT '$statement->{name}', path(), read();\n\\o /dev/null\nCOMMIT;\n$after;\nDEALLOCATE statement;\n$flush;\n\\o\n";
    }
    my %seen;
    foreach my $line (split /\n/, $node->safe_psql('postgres', $script))
    {
        my ($name, $path, $read) = split /\|/, $line;
        $seen{$name} = { path => $path, read => $read } if defined $path;
    }
    return \%seen;
}

# Counts of all sessions: scans of whole tables, scans of the keys' index, rows added, buffers read.
sub totals
{
    # pgq_progress is one row, and is read as a whole.
    return split /\|/, $node->safe_psql('postgres', q{
        SELECT sum(pg_stat_get_numscans(oid)) FILTER (WHERE relname IN ('pgq_job', 'pgq_archive', 'pgq_request')),
               sum(pg_stat_get_numscans(oid)) FILTER (WHERE relname = 'pgq_job_key'),
               sum(pg_stat_get_tuples_inserted(oid)) FILTER (WHERE relname = 'pgq_job'),
               sum(pg_stat_get_blocks_fetched(oid)) FILTER (WHERE relname LIKE 'pgq\_job%')
          FROM ours});
}

# A new enqueuer in place of the one that runs; what that has counted has been reported when it is gone.
sub restart_enqueuer
{
    my $old = $node->enqueuer('postgres');
    $node->safe_psql('postgres', "SELECT pgq_sync('60 s'); SELECT pg_terminate_backend($old)");
    $node->enqueuer('postgres', $old);
    return;
}

# Lets the enqueuer convert 100 events in one go, half of them of keys that have jobs, and returns what it has scanned and
# read for them.
sub convert
{
    restart_enqueuer();
    my @before = totals();
    $node->safe_psql('postgres', q{
        INSERT INTO ev(k) SELECT CASE WHEN i % 2 = 0 THEN 'k' || i ELSE gen_random_uuid()::text END FROM generate_series(1, 100) i});
    restart_enqueuer();
    my @after = totals();
    is($after[2] - $before[2], 100, 'the events have become jobs');
    return { path => sprintf('tables %d, pgq_job_key %d', $after[0] - $before[0], $after[1] - $before[1]), read => $after[3] - $before[3] };
}

# Runs everything under settings, in sessions and in an enqueuer that start with them. plans.round tells when they are in force.
my $round = 0;

sub run_under
{
    my ($settings) = @_;
    $round++;
    open my $conf, '>', $node->data_dir . '/plans.conf' or die "plans.conf: $!";
    print {$conf} "$_\n" foreach @$settings, "plans.round = '$round'";
    close $conf or die "plans.conf: $!";
    $node->reload;
    $node->poll_query_until('postgres', "SELECT current_setting('plans.round') = '$round'") or die 'the settings do not come';
    my $seen = run_statements();
    $seen->{conversion} = convert();
    return $seen;
}

$node->append_conf('postgresql.conf', "include 'plans.conf'");
$node->append_conf('plans.conf', "plans.round = '0'");
my @off = map { "$_ = off" } split /\n/, $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name LIKE 'enable\_%'});
my @index_off = grep { /index|bitmap/ } @off;
my @settings = (
    [ 'default settings' ],
    [ 'every enable_* off', @off ],
    [ 'index scans off', @index_off ],
    [ 'all but index scans off', grep { !/enable_indexscan/ } @off ],
    [ 'generic plans', 'plan_cache_mode = force_generic_plan' ],
    [ 'custom plans', 'plan_cache_mode = force_custom_plan' ],
    [ 'JIT', 'jit = on', 'jit_above_cost = 0', 'jit_inline_above_cost = 0', 'jit_optimize_above_cost = 0' ],
    [ 'misleading costs', 'random_page_cost = 1000000', 'cpu_index_tuple_cost = 1000000', 'effective_cache_size = 8kB' ]);

# No statement reads more, for each job that it touches; the whole table has 300 or more.
my $most = 40;

sub check_round
{
    my ($title, $seen, $first) = @_;
    my @paths = map { "$_: $seen->{$_}{path}" } sort keys %$seen;
    my @expected = map { "$_: $first->{$_}{path}" } sort keys %$first;
    is_deeply(\@paths, \@expected, "$title: the same access paths");
    my %touched = ('dequeue' => 11, 'next' => 19, 'complete an array' => 11, 'conversion' => 100);
    my @much = grep { $seen->{$_}{read} > $most * ($touched{$_} // 1) } sort keys %$seen;
    is(join(', ', map { "$_: $seen->{$_}{read}" } @much), '', "$title: few buffers");
    return;
}

sub check_first
{
    my ($first) = @_;
    foreach my $name (map { $_->{name} } @statements)
    {
        my $may_scan = $may_scan{$name} // qr/^pgq_(queue_pkey|job_pkey)$/;
        my @scanned = map { s/ \d+$//r } split /, /, $first->{$name}{path};
        is(join(', ', grep { $_ !~ $may_scan } @scanned), '', "$name scans nothing but what it is meant to: $first->{$name}{path}");
    }
    my ($tables, $keys) = $first->{conversion}{path} =~ /^tables (\d+), pgq_job_key (\d+)$/;
    is($tables, 0, 'the conversion scans no table');
    cmp_ok($keys, '<=', 100, 'and looks at each key once at most');
    return;
}

my $analyze = 'ANALYZE pgq_job, pgq_archive, pgq_queue, pgq_request, pgq_idempotency, pgq_progress';

# Makes new tables, lets then run what tells the planner about them while they are empty, and fills them.
sub fresh
{
    my ($then) = @_;
    $node->safe_psql('postgres', qq{
        SET client_min_messages = warning;
        DROP EXTENSION IF EXISTS pgq_ext CASCADE;
        TRUNCATE ev, hand;
        CREATE EXTENSION pgq_ext;
        SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k');
        $then;
        INSERT INTO ev(k) SELECT 'k' || i % ($jobs / 2) FROM generate_series(1, $jobs) i;
        SELECT pgq_sync('180 s')});
    return;
}

fresh('SELECT');
my $first = run_under([]);
check_first($first);
check_round('never analyzed', $first, $first);
is($node->safe_psql('postgres', q{SELECT reltuples FROM pg_class WHERE relname = 'pgq_job'}), -1, 'nothing is known of the table');

fresh($analyze);
is($node->safe_psql('postgres', q{SELECT reltuples FROM pg_class WHERE relname = 'pgq_job'}), 0, 'the table is taken for empty');
check_round('analyzed when empty', run_under([]), $first);

$node->safe_psql('postgres', $analyze);
check_round("analyzed when full, $_->[0]", run_under([ @$_[ 1 .. $#$_ ] ]), $first) foreach @settings;

$node->log_is_clean;
PgqNode::done();
