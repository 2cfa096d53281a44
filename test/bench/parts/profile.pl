# Where the time of one job goes, from the WAL record to the archive: processor time by process, and of a client's two calls
# the time on its clock. Batches of 50, 4 clients, distinct keys.
use strict;
use warnings;
use Bench::Enqueuer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Bench::Writers;

my $jobs = 8 * int(Bench::Results::scaled(40_000) / 8);
my $server = Bench::Server->start('with', extension => 1, conf => "autovacuum = off\n"); # it would count as a backend
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('profile', 3);
my $postmaster = (split /\n/, Bench::Server::execute('cat', "$server->{data}/postmaster.pid"))[0];

# Seconds of processor time that sessions have had which have ended; hundredths, as the kernel counts them.
sub time_of_sessions
{
    my @fields = split / /, Bench::Server::execute('cat', "/proc/$postmaster/stat");
    return ($fields[15] + $fields[16]) / 100;
}

# The same of processes that stay, by kind.
sub time_of_processes
{
    my %times;
    foreach my $line (split /\n/, $server->sql(q{SELECT backend_type, pid FROM pg_stat_activity WHERE backend_type <> 'client backend'}))
    {
        my ($kind, $pid) = split /\|/, $line;
        $times{$kind} = (split / /, Bench::Server::execute('cat', "/proc/$pid/schedstat"))[0] / 1e9;
    }
    return %times;
}

# Runs code, and adds for each kind of process what it took of a processor, in microseconds a job.
sub account
{
    my ($stage, $code) = @_;
    my %before = (sessions => time_of_sessions(), time_of_processes());
    my $result = $code->();
    sleep 1; # the sessions end, and the postmaster takes note of it
    my %after = (sessions => time_of_sessions(), time_of_processes());
    foreach my $kind (sort keys %after)
    {
        my $took = 1e6 * ($after{$kind} - ($before{$kind} // 0)) / $jobs;
        $results->sample($stage, $kind, 'us/job', $took) if $kind =~ /^(sessions|pgq_ext enqueuer|walwriter)$/;
    }
    return $result;
}

$results->rounds(
    sub {
        $pgq->setup;
        my $pid = Bench::Enqueuer::freeze($server);
        account('insert', sub { $server->client(Bench::Writers::command('-t', $jobs / 8)) });
        account('convert', sub { Bench::Enqueuer::catch_up($server, $pid) });
        my $result = account('claim and complete', sub { $pgq->work(jobs => $jobs, seconds => 120) });
        $results->sample('on the clock', $_, 'us/job', $result->{"${_}_p50"} / 50) foreach 'claim', 'complete';
    });
$results->finish;
$server->stop;
