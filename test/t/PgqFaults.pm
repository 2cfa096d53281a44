# Servers whose library has fault points (src/pg/fault.hpp), and how a test uses them.
package PgqFaults;

use strict;
use warnings;
use File::Basename;
use FindBin;
use PostgreSQL::Test::Utils;
use PgqLoad;
use Test::More;

our @ISA = ('PgqLoad');

my $source = "$FindBin::RealBin/../..";

sub config
{
    my ($what) = @_;
    my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
    chomp(my $path = `$pg_config --$what`);
    return $path;
}

# Builds the library with fault points in a copy of the sources. Objects that are there are taken as they are, but for
# those that have fault points.
sub build_library
{
    my $build = PostgreSQL::Test::Utils::tempdir;
    system_or_bail('cp', '-rp', map({ "$source/$_" } 'src', 'sql', 'Makefile', 'pgq_ext.control'), $build);
    my @with_points = split /\n/, `grep -rl --include='*.cpp' pg/fault.hpp '$build/src'`;
    unlink map { s/cpp$/o/r } @with_points;
    system_or_bail('make', '-s', '-j2', '-C', $build, 'FAULTS=1', 'PG_CONFIG=' . ($ENV{PG_CONFIG} || 'pg_config'), 'pgq_ext.so');
    return "$build/pgq_ext.so";
}

# Makes an installation that has this library in place of ours, beside the one under test: a server looks for its files
# relative to its program. Returns what PostgreSQL::Test::Cluster calls its install_path.
sub installation
{
    my ($library) = @_;
    my $root = PostgreSQL::Test::Utils::tempdir;
    my ($bin, $lib, $share) = (config('bindir'), config('pkglibdir'), config('sharedir'));
    foreach my $dir ($bin, $lib, dirname($share))
    {
        system_or_bail('mkdir', '-p', "$root$dir");
    }
    system_or_bail('cp', '-r', "$bin/.", "$root$bin");
    system_or_bail('cp', '-rs', "$lib/.", "$root$lib");
    system_or_bail('cp', '--remove-destination', $library, "$root$lib/pgq_ext.so");
    symlink($share, "$root$share") or die "symlink: $!";
    return dirname("$root$bin");
}

# A started server with fault points.
sub create
{
    my ($class, $name, $conf) = @_;
    my $node = PgqLoad::create($class, $name, $conf, install_path => installation(build_library()));
    mkdir $node->data_dir . '/pgq_ext_faults' or die "mkdir: $!";
    return $node;
}

# All points of the sources, as { name => file }.
sub points
{
    my %points;
    foreach my $line (split /\n/, `grep -roE --include='*.cpp' 'FaultPoint\\("[a-z_]+"' '$source/src'`)
    {
        $line =~ m{/src/([^:]+):FaultPoint\("(.*)"} and $points{$2} = $1;
    }
    return %points;
}

# What is to happen the next time that a process comes to the point.
sub set_fault
{
    my ($self, $point, $action) = @_;
    my $file = $self->data_dir . "/pgq_ext_faults/$point";
    $self->{log_start} = -s $self->logfile;
    append_to_file("$file.new", "$action\n");
    rename "$file.new", $file or die "rename: $!";
    return;
}

# Waits until it has happened.
sub await_fault
{
    my ($self, $point) = @_;
    return $self->wait_for_log(qr/pgq_ext fault point "$point"/, $self->{log_start});
}

# Lets the process go on that waits at the point.
sub go
{
    my ($self, $point) = @_;
    append_to_file($self->data_dir . "/pgq_ext_faults/$point.go", '');
    return;
}

# Under a load, lets every action happen at each of the points, and compares after each. before: what makes a process
# come to the point.
sub hit_all
{
    my ($self, $before, @points) = @_;
    $self->create_load;
    $self->start_load;
    foreach my $point (@points)
    {
        # In this order: after a crash the launcher is a new one.
        foreach my $action ('error', 'wait', 'crash')
        {
            $self->set_fault($point, $action);
            $before->();
            $self->await_fault($point);
            $self->await_server;
            if ($action eq 'wait')
            {
                $self->safe_psql('postgres', 'SELECT insert_events(3)');
                $self->go($point);
            }
            $self->is_exact("$action at $point");
        }
    }
    $self->stop_load;
    $self->is_exact('at the end');
    $self->drain;
    $self->is_exact('when all is done');
    return $self->log_has_no_panic;
}

1;
