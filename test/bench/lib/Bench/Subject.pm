# What is measured: one way to keep a queue (a directory of protocol/) on one server.
package Bench::Subject;

use strict;
use warnings;

my $driver = $ENV{PGQ_BENCH_DRIVER} // die 'PGQ_BENCH_DRIVER is not set';

# name: of the directory, and of the subject in the results. ranged: whether its clients share the ids out among themselves.
sub new
{
    my ($class, $server, $name, %options) = @_;
    return bless {
        server => $server, name => $name, directory => $options{directory} // "test/bench/protocol/$name",
        ranged => $name eq 'floor', columns => $options{columns} // []
    }, $class;
}

sub name { return $_[0]{name} }
sub server { return $_[0]{server} }

# Makes a new database with an empty queue in it.
sub setup
{
    my ($self) = @_;
    $self->{filled} = 0;
    $self->{server}->fresh_database;
    $self->{server}->file("$self->{directory}/setup.sql");
    return $self;
}

# Adds n jobs whose keys are the SQL expression key over i = 1 .. n.
sub fill
{
    my ($self, $n, $key) = @_;
    $self->{server}->file("$self->{directory}/fill.sql", n => int $n, key => $key);
    $self->{filled} += int $n;
    return $self;
}

# Lets the head of each key wait for its next attempt.
sub delay
{
    my ($self) = @_;
    $self->{server}->file("$self->{directory}/delay.sql");
    return $self;
}

# Claims and completes, and returns what the driver prints as a hash. options: the driver's.
sub work
{
    my ($self, %options) = @_;
    %options = (%options, first => 1, last => $self->{filled}) if $self->{ranged};
    my $printed = $self->{server}->client($driver, $self->{directory},
        map({ ("--$_", $options{$_}) } sort keys %options), @{ $self->{columns} });
    my %result = map { split /\t/ } split /\n/, $printed;
    return \%result;
}

1;
