# What the enqueuer can convert: while 8 writers insert at full speed, and from a backlog while nobody writes.
use strict;
use warnings;
use Bench::Enqueuer;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use Bench::Writers;
use Time::HiRes qw(sleep time);

my $seconds = 10;
my $backlog = Bench::Results::scaled(80_000);
my $server = Bench::Server->start('with', extension => 1);
my $pgq = Bench::Subject->new($server, 'pgq');
my $results = Bench::Results->new('enqueuer', 3);

# Events and jobs made so far, at one moment: what is inserted and not committed is no more than one event a client.
sub progress
{
    return split /\|/, $server->sql('SELECT last_value, next_position FROM ev_id_seq, pgq_progress');
}

# The share of the events inserted between the second and the last but one second of the load that became jobs in this time,
# and the writers' rate.
sub load
{
    my ($handlers) = @_;
    my $writers = $server->start_client(\my $output, Bench::Writers::command('-T', $seconds));
    sleep 1;
    my ($events, $jobs) = progress();
    sleep $seconds - 2;
    my ($events_then, $jobs_then) = progress();
    $writers->finish or die 'pgbench failed';
    return (($jobs_then - $jobs) / $handlers / ($events_then - $events), Bench::Writers::rate_in($output));
}

sub measure
{
    my ($handlers) = @_;
    return sub {
        my $scenario = "$handlers handler(s)";
        $pgq->setup;
        $server->sql("SELECT pgq_create_handler('ev$_', 'ev', serialization_key => 'k')") foreach 2 .. $handlers;
        my ($converted, $rate) = load($handlers);
        $results->sample($scenario, 'lag at the end', 's', Bench::Enqueuer::sync($server));
        $results->sample($scenario, 'writers', 'events/s', $rate);
        $results->sample($scenario, 'converted', 'of inserted', $converted);

        my $pid = Bench::Enqueuer::freeze($server);
        {
            local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
            $server->client(Bench::Writers::command('-t', int($backlog / 8)));
        }
        $results->sample($scenario, 'backlog', 'events/s', $backlog / Bench::Enqueuer::catch_up($server, $pid));
    };
}

$results->rounds(measure(1), measure(4));
foreach my $handlers (1, 4)
{
    my $scenario = "$handlers handler(s)";
    # To two digits: the moments at which events and jobs are counted are some events apart.
    $results->check("$scenario: converted of inserted", sprintf('%.2f', $results->median_of("$scenario/converted")), 'at least', 1.00);
    $results->check("$scenario: lag back to zero, s", $results->median_of("$scenario/lag at the end"), 'at most', 1);
    $results->check_ratio("$scenario: backlog, of the writers' rate", "$scenario/backlog", "$scenario/writers", 'at least',
        $handlers == 1 ? 3 : 1.5);
}
$results->finish;
$server->stop;
