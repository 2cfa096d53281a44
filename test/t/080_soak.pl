# A mixed load for a while: nothing grows that should not, nothing is said in the log that is not expected, and at the end
# each row of the sources is compared with what became of it.
#
# PGQ_SOAK_SECONDS says for how long (make soak SECONDS=3600).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use PgqLoad;
use PgqSamples;

my $seconds = $ENV{PGQ_SOAK_SECONDS} || 24;
# Few enough not to be a load themselves, enough for quarters.
my $interval = $seconds > 150 ? $seconds / 150 : 1;

# That a worker vanishes is part of the load, and that autovacuum gives way to DDL is what it should do.
my $expected = qr/terminating connection due to administrator command|canceling autovacuum task/;

my $node = PgqLoad->create('soak', "max_connections = 30\nautovacuum_naptime = 1s\nmax_wal_size = 256MB\nlog_autovacuum_min_duration = -1\n");
plan skip_all => 'no /proc/PID/smaps_rollup here' if !-r "/proc/$$/smaps_rollup";
$node->create_load;
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../load/soak.sql"));
my $enqueuer = $node->enqueuer('postgres');

# Workers that stay connected, so that what they leak is seen.
my @workers;
foreach my $what ('work(5)', 'work_in_bulk()', 'work_long()')
{
    my $script = $node->basedir . '/worker' . @workers . '.sql';
    append_to_file($script, "CALL $what;\n");
    (my $name = $what) =~ s/\(.*//;
    push @workers, IPC::Run::start(
        [ 'pgbench', '--no-vacuum', '--file', $script, '--time', int($seconds) + 5, '--protocol', @workers ? 'prepared' : 'simple',
            $node->connstr('postgres') . " application_name=$name" ],
        '<', \undef, '>', \my $out, '2>', $node->basedir . "/$name.log");
}
$node->start_load(
    'producer 3' => "CALL enqueue('%NAME%', 20);",
    'producer 4' => 'CALL copy_many(5000); SELECT pg_sleep(5 + random());');

my $samples = PgqSamples->new($node, q{
    SELECT 'pid', CASE WHEN backend_type = 'pgq_ext enqueuer' THEN 'enqueuer' ELSE application_name END, pid FROM pg_stat_activity
     WHERE backend_type = 'pgq_ext enqueuer' OR application_name IN ('work', 'work_in_bulk', 'work_long')});
my $vanished = 0;
my $end = time + $seconds;
for (my $n = 0; time < $end; $n++)
{
    # What is waited for is the load itself.
    select(undef, undef, undef, $interval);
    $samples->take;
    $vanished += $node->safe_psql('postgres', q{
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'CALL work(20);'}) if $n % 5 == 3;
    is($node->safe_psql('postgres', 'SELECT * FROM pgq_check()'), '', "sample $n: pgq_check finds nothing") if $n % 30 == 10;
}
ok(IPC::Run::finish($_), 'a worker that stayed connected met no error') foreach @workers;
$node->stop_load;

cmp_ok($vanished, '>', 0, 'workers vanished');
$samples->do_not_grow;
is($node->enqueuer('postgres'), $enqueuer, 'the enqueuer never ended');
$node->is_exact('after the load');
$node->drain;
my $report = $node->is_exact('when all is done');

# Nothing is left of the load: the slot moves on, and has no files but its own.
ok($node->poll_query_until('postgres', 'SELECT pg_current_wal_lsn() - confirmed_flush_lsn < 1024 * 1024 FROM pg_replication_slots'),
    'the slot has moved on');
my @files = grep { !m{/state$} } glob($node->data_dir . '/pg_replslot/*/*');
is("@files", '', 'no file of a decoded transaction is left');

my @bad = grep { /(WARNING|ERROR|FATAL|PANIC|TRAP):|terminated by signal/ && !/$expected/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @bad[ 0 .. ($#bad < 20 ? $#bad : 20) ]), '', 'the log says nothing unexpected');
$node->stop;
my $text = "soak: $seconds seconds, $report->{events} events\n" . $samples->report;
$ENV{PGQ_SOAK_SECONDS} ? diag($text) : note($text);
PgqNode::done();
