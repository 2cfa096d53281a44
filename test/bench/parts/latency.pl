# From the moment when a client knows that its commit is done to the one when its job can be seen: 300 events a second from
# 8 clients. The first is the client's clock, the second the commit timestamp of the job's row, on the same machine. Below
# zero the job is there before the client knows.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Bench::Writers;

my $seconds = Bench::Results::scaled(15);
my ($with, $without) = Bench::Server->pair;
my $results = Bench::Results->new('latency', 3);
my %subjects = (pgq => Bench::Subject->new($with, 'pgq'), polling => Bench::Subject->new($without, 'polling'));
my %jobs = (pgq => 'pgq_job', polling => 'floor.pgq_job');

# Lets clients insert. Returns when they were told of their commits, by key, and how long these took; seconds.
sub insert
{
    my ($server) = @_;
    my $log = "$ENV{TMPDIR}/transactions";
    unlink glob "$log.*";
    $server->client(Bench::Writers::command('-R', 300, '-T', $seconds, '-l', "--log-prefix=$log"));
    my (%told, @durations);
    foreach my $line (map { split /\n/ } map { Bench::Server::execute('cat', $_) } glob "$log.*")
    {
        my ($client, $transaction, $latency, undef, $epoch, $microseconds, $lag) = split / /, $line;
        $told{"$client-$transaction"} = $epoch + $microseconds / 1e6;
        push @durations, ($latency - $lag) / 1e6;
    }
    return (\%told, \@durations);
}

# When each job could be seen, by key.
sub visible
{
    my ($server, $table) = @_;
    $server->sql(q{SELECT pgq_sync('60 s')}) if $server->{extension};
    my $count = "SELECT count(*) FROM ev LEFT JOIN $table ON args ->> 'k' = k WHERE job_id IS NULL";
    select undef, undef, undef, 0.05 until $server->sql($count) eq '0';
    return { split /[\n|]/,
        $server->sql("SELECT serialization_key, extract(epoch FROM pg_xact_commit_timestamp(xmin)) FROM $table") };
}

sub percentile
{
    my ($percent, @values) = @_;
    return (sort { $a <=> $b } @values)[ @values * $percent / 100 ];
}

sub measure
{
    my ($name) = @_;
    return sub {
        my $server = $subjects{$name}->setup->server;
        my $poller = $name eq 'polling' ? $server->start_session('CALL poll()') : undef;
        my ($told, $durations) = insert($server);
        my $visible = visible($server, $jobs{$name});
        $server->end_session($poller) if $poller;
        my @waits = map { 1000 * (($visible->{$_} // die "event $_ has no job") - $told->{$_}) } keys %$told;
        $results->sample("commit to job visible, p$_", $name, 'ms', percentile($_, @waits)) foreach 50, 99;
        $results->sample('client commit, p50', $name, 'ms', 1000 * percentile(50, @$durations));
    };
}

$results->rounds(measure('pgq'), measure('polling'));
my $bound = 2 * $results->median_of('client commit, p50/pgq');
$results->check('p50, ms (1 ms or 2 client commits)', $results->median_of('commit to job visible, p50/pgq'), 'at most',
    $bound > 1 ? sprintf('%.2f', $bound) : 1);
$results->check('p99, ms', $results->median_of('commit to job visible, p99/pgq'), 'at most', 10);
$results->finish;
$_->stop foreach $with, $without;
