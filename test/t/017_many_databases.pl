# Twenty databases: each has its own enqueuer, which converts that database's events and no others. Where processes or
# slots are too few, that is said with the setting to raise, as many as can run do, and the others follow when there is
# room. What one too few of each does to a single database is in 014_worker_slots.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my @databases = map { sprintf 'db%02d', $_ } 1 .. 20;
my %events = map { $_ => 0 } @databases;

# Two worker processes are the launcher and the server's own.
my $node = PgqNode->create('many_databases', "max_worker_processes = 8\nmax_replication_slots = 25");

sub insert_events
{
    foreach my $database (@_)
    {
        $node->safe_psql($database, "INSERT INTO ev(k) VALUES ('$database')");
        $events{$database}++;
    }
    return;
}

# Each of these has made a job of each of its events, also of those that came when it did not run.
sub all_convert
{
    my ($when, @those) = @_;
    my @wrong = grep {
        my $found = $node->safe_psql($_, qq{SELECT pgq_sync('60 s'); SELECT count(*), count(DISTINCT args ->> 'id'),
            count(*) FILTER (WHERE args ->> 'k' = current_database()) FROM pgq_jobs});
        $found !~ /^\s*$events{$_}\|$events{$_}\|$events{$_}$/;
    } @those;
    is("@wrong", '', "$when: " . @those . ' databases convert their own events, each once');
    return;
}

# Waits until so many enqueuers have their slot for good, and returns their databases.
sub running
{
    my ($number) = @_;
    my $confirmed = 'pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL';
    ok($node->poll_query_until('postgres', "SELECT count(*) = $number FROM $confirmed"), "$number enqueuers have slots");
    return split /\n/, $node->safe_psql('postgres', "SELECT database FROM $confirmed ORDER BY database");
}

sub others
{
    my %known = map { $_ => 1 } @_;
    return grep { !$known{$_} } @databases;
}

# The view of each of these names the reason.
sub all_fail
{
    my ($reason, @those) = @_;
    my @silent =
      grep { !$node->poll_query_until($_, "SELECT state = 'failed' AND last_error ~ '$reason' FROM pgq_enqueuer") } @those;
    is("@silent", '', @those . " databases say: $reason");
    return;
}

sub restart_with
{
    my (@settings) = @_;
    $node->append_conf('postgresql.conf', join "\n", @settings);
    $node->restart;
    return;
}

foreach my $database (@databases)
{
    $node->safe_psql('postgres', "CREATE DATABASE $database");
    $node->safe_psql($database, 'CREATE EXTENSION pgq_ext');
    $node->create_events($database);
}
insert_events(@databases);

# Too few worker processes.
my @running = running(6);
all_convert('too few processes', @running);
all_fail('max_worker_processes', others(@running));
insert_events(@databases);
all_convert('too few processes, later', @running);
my @said = slurp_file($node->logfile) =~ /(HINT:  Raise max_worker_processes, which is 8)/g;
is(scalar @said, 1, 'the log says it once, for all of them');

# Too few slots; those that had one keep it.
my $log_start = -s $node->logfile;
restart_with('max_worker_processes = 32', 'max_replication_slots = 9');
my @before = @running;
@running = running(9);
my %runs = map { $_ => 1 } @running;
is(join(' ', grep { !$runs{$_} } @before), '', 'who had a slot goes on');
all_fail('all replication slots are in use', others(@running));
insert_events(@databases);
all_convert('too few slots', @running);
like(slurp_file($node->logfile, $log_start), qr/HINT:  Free one or increase max_replication_slots\./, 'the log names the setting');

# Room appears: those that leave make it.
my @leaving = @running[ 0 .. 2 ];
$node->safe_psql($_, 'DROP EXTENSION pgq_ext CASCADE; DROP TABLE ev') foreach @leaving;
@databases = others(@leaving);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 9 FROM pg_replication_slots WHERE active AND database NOT IN ('}
      . join("', '", @leaving) . q{')}), 'three others take the slots of three that leave');
all_convert('with the slots of others', running(9));

my @slots_said = slurp_file($node->logfile, $log_start) =~ /(HINT:  Free one or increase max_replication_slots\.)/g;
is(scalar @slots_said, 11, 'each of those that had none has said so once');

# Enough of both.
restart_with('max_replication_slots = 25');
is(join(' ', running(17)), "@databases", 'with enough of both all run');
insert_events(@databases);
all_convert('with enough of both', @databases);

# Nothing is left of them, whichever way they go.
$node->safe_psql('postgres', "DROP DATABASE $_") foreach @databases[ 0 .. 8 ];
$node->safe_psql($_, 'DROP EXTENSION pgq_ext CASCADE') foreach @databases[ 9 .. 16 ];
$node->await_enqueuers();
$node->restart;
$node->processes_are('pgq_ext launcher', 'no enqueuer is left');
is($node->slots, '', 'no slot');
is(join(' ', glob($node->data_dir . '/pg_replslot/*')), '', 'and none of their directories');

$node->log_is_clean;
$node->stop;
PgqNode::done();
