# What an idle extension costs: a minute of nothing to do.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Time::HiRes qw(sleep);

my $seconds = Bench::Results::scaled(60);
my $server = Bench::Server->start('with', extension => 1, conf => "autovacuum = off\n"); # its WAL is not ours
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('idle', 1);

# Seconds of processor time that a process has had.
sub processor_time
{
    my ($pid) = @_;
    return (split / /, Bench::Server::execute('cat', "/proc/$pid/schedstat"))[0] / 1e9;
}

sub wal_position
{
    return $server->sql(q{SELECT pg_current_wal_insert_lsn() - '0/0'});
}

# What is looked at below, and what the launcher looks at: that may tidy up a page of the catalog.
sub look
{
    wal_position();
    $server->sql('SELECT count(*) FROM pg_database');
    return map { split /\|/ } split /\n/,
      $server->sql(q{SELECT replace(backend_type, 'pgq_ext ', ''), pid FROM pg_stat_activity WHERE backend_type LIKE 'pgq\_ext %'});
}

# Waits, in the server, until the condition holds; writes nothing.
sub await
{
    my ($condition) = @_;
    return $server->sql("DO \$\$ BEGIN WHILE NOT ($condition) LOOP COMMIT; END LOOP; END \$\$");
}

# The server notes the running transactions, within some 15 seconds, when something has been written since it last did. It is
# at rest when that note is the last thing in its WAL, all of which has been flushed.
my $at_rest = q{pg_current_wal_flush_lsn() = pg_current_wal_insert_lsn()
    AND (SELECT record_type FROM pg_get_wal_records_info((SELECT redo_lsn FROM pg_control_checkpoint()), pg_current_wal_flush_lsn())
          ORDER BY start_lsn DESC LIMIT 1) = 'RUNNING_XACTS'};

# The database has been used, the enqueuer has seen the last lease end, and the server has written what it writes about that.
$pgq->setup->fill(1000, q{'k' || i})->work(jobs => 900);
$server->sql('SELECT FROM pgq_dequeue(1)');
$server->sql('CREATE EXTENSION pg_walinspect');
$server->sql('CHECKPOINT');
my %pids = look();
await('(SELECT running FROM pgq_queues) = 0');
await($at_rest);

$results->rounds(
    sub {
        my $wal = wal_position();
        my %before = map { $_ => processor_time($pids{$_}) } keys %pids;
        sleep $seconds;
        $results->sample('idle', $_, '% of a processor', 100 * (processor_time($pids{$_}) - $before{$_}) / $seconds)
          foreach sort keys %pids;
        $results->sample('idle', 'WAL', 'bytes', wal_position() - $wal);
    });
$results->check("processor time of the $_, %", $results->median_of("idle/$_"), 'at most', 0.1) foreach sort keys %pids;
$results->check('WAL, bytes', $results->median_of('idle/WAL'), 'at most', 0);
$results->finish;
$server->stop;
