# The enqueuer of a server's present database: when it is done, and how to let it fall behind.
package Bench::Enqueuer;

use strict;
use warnings;
use Time::HiRes qw(sleep time);

# Waits until all that is committed has become jobs, and returns the seconds that took.
sub sync
{
    my ($server) = @_;
    my $start = time;
    $server->sql(q{SELECT pgq_sync('1 h')});
    return time - $start;
}

# Stops it while it is idle, so that it holds no lock, and returns its pid.
sub freeze
{
    my ($server) = @_;
    sync($server);
    my $pid = $server->sql('SELECT pid FROM pgq_enqueuer');
    sleep 0.01 until $server->sql("SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid") eq 't';
    kill 'STOP', $pid or die "can't stop $pid: $!";
    return $pid;
}

# Lets it go on, and returns the seconds until it has caught up.
sub catch_up
{
    my ($server, $pid) = @_;
    kill 'CONT', $pid or die "can't continue $pid: $!";
    return sync($server);
}

1;
