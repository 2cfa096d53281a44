# A psql that runs one script after the other without anybody waiting for it, as is needed where a session waits for a lock
# that another one of the same test holds.
package PsqlSession;

use strict;
use warnings;
use IPC::Run ();

sub new
{
    my ($class, $connstr) = @_;
    my $self = bless { in => '', out => '', err => '', count => 0 }, $class;
    $self->{run} = IPC::Run::start(
        [ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $connstr ],
        '<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
    $self->{pid} = $self->query('SELECT pg_backend_pid()');
    return $self;
}

# The server process.
sub pid
{
    my ($self) = @_;
    return $self->{pid};
}

# Starts a script. The one before must have ended.
sub send
{
    my ($self, $script) = @_;
    @$self{qw(out err)} = ('', '');
    $self->{count}++;
    $script .= ';' unless $script =~ /\\gexec$/;
    $self->{in} .= "$script\n\\echo done $self->{count}\n";
    $self->{run}->pump_nb;
    return;
}

# Whether the script has ended; the session's end is the end of its script, too.
sub is_done
{
    my ($self) = @_;
    return 1 if $self->{out} =~ /^done $self->{count}$/m || !$self->is_alive;
    $self->{run}->pump_nb;
    return 0;
}

sub is_alive
{
    my ($self) = @_;
    return eval { $self->{run}->pumpable };
}

# The SQLSTATEs of the errors of the script that has ended, each with its message.
sub errors
{
    my ($self) = @_;
    return $self->{err} =~ /^(?:ERROR|FATAL|PANIC): +(.*)$/mg;
}

# Runs a script to its end, and returns its output.
sub query
{
    my ($self, $script) = @_;
    $self->send($script);
    $self->{run}->pump while $self->is_alive && $self->{out} !~ /^done $self->{count}$/m;
    my $out = $self->{out};
    $out =~ s/\n?done $self->{count}\n//;
    return $out;
}

# Ends the session, whatever it does.
sub quit
{
    my ($self) = @_;
    $self->{in} .= "\\q\n";
    eval { $self->{run}->finish };
    return;
}

1;
