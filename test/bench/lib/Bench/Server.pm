# A PostgreSQL server of the benchmark: with the extension or without it, on a disk, with the settings of server.conf.
package Bench::Server;

use strict;
use warnings;
use IPC::Run qw(run);

my $base = $ENV{TMPDIR} // '/tmp';
my $next_port = 5501;

# Starts a new server. name: of its directory. extension: whether it has ours. conf: more settings. program: what runs it.
sub start
{
    my ($class, $name, %options) = @_;
    my $self = bless {
        data => "$base/$name", log => "$base/$name.log", port => $next_port++, extension => $options{extension}
    }, $class;
    execute('initdb', "--pgdata=$self->{data}", '--auth=trust', '--username=postgres', '--no-instructions');
    $self->configure($options{conf});
    my @program = defined $options{program} ? ('-p', $options{program}) : ();
    execute('pg_ctl', '--silent', "--pgdata=$self->{data}", "--log=$self->{log}", @program, 'start');
    return $self;
}

sub configure
{
    my ($self, $more) = @_;
    open my $settings, '<', 'test/bench/server.conf' or die "server.conf: $!";
    open my $conf, '>>', "$self->{data}/postgresql.conf" or die "postgresql.conf: $!";
    print {$conf} readline($settings), "port = $self->{port}\n", "unix_socket_directories = '$base'\n";
    print {$conf} "shared_preload_libraries = 'pgq_ext'\n" if $self->{extension};
    print {$conf} $more if defined $more;
    close $conf or die "postgresql.conf: $!";
    return;
}

# The two that most parts compare.
sub pair
{
    my ($class) = @_;
    return ($class->start('with', extension => 1), $class->start('without', extension => 0));
}

sub stop
{
    my ($self) = @_;
    execute('pg_ctl', '--silent', "--pgdata=$self->{data}", '--mode=fast', 'stop');
    return;
}

# Runs a program and returns what it prints; dies with what it complains about when it fails.
sub execute
{
    my ($program, @arguments) = @_;
    my ($out, $err) = ('', '');
    run([ $program, @arguments ], '<', \undef, '>', \$out, '2>', \$err) or die "$program: $err$out";
    chomp $out;
    return $out;
}

# The variables by which clients find the server.
sub environment
{
    my ($self) = @_;
    return (PGHOST => $base, PGPORT => $self->{port}, PGUSER => 'postgres', PGDATABASE => $self->{database} // 'postgres');
}

# Runs a client program against the server's present database and returns what it prints.
sub client
{
    my ($self, @command) = @_;
    local %ENV = (%ENV, $self->environment);
    return execute(@command);
}

# Starts a client program and returns its IPC::Run harness; its output goes to out, a reference.
sub start_client
{
    my ($self, $out, @command) = @_;
    local %ENV = (%ENV, $self->environment);
    return IPC::Run::start([@command], '<', \undef, '>', $out, '2>', \my $err);
}

# Starts a session that runs SQL without an end, until end_session.
sub start_session
{
    my ($self, $sql) = @_;
    local $ENV{PGAPPNAME} = 'bench session';
    return $self->start_client(\my $out, 'psql', '-XqAt', '-c', $sql);
}

sub end_session
{
    my ($self, $session) = @_;
    $self->sql(q{SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'bench session'});
    return $session->finish;
}

my @psql = ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1');

# Runs SQL and returns its rows.
sub sql
{
    my ($self, $sql) = @_;
    return $self->client(@psql, '-c', $sql);
}

# Runs a file of SQL, with psql variables.
sub file
{
    my ($self, $file, %variables) = @_;
    return $self->client(@psql, map({ ('-v', "$_=$variables{$_}") } sort keys %variables), '-f', $file);
}

# Makes an empty database and lets what follows use it. The one before is gone.
sub fresh_database
{
    my ($self) = @_;
    $self->{database} = undef;
    $self->sql('DROP DATABASE IF EXISTS bench WITH (FORCE)');
    $self->sql('CREATE DATABASE bench');
    $self->{database} = 'bench';
    return;
}

1;
