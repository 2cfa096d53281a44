# Samples of a server under load, and whether anything in them grows: the memory of processes, what the slot holds back,
# the size of our tables.
package PgqSamples;

use strict;
use warnings;
use List::Util qw(max min sum0);
use PostgreSQL::Test::Utils;
use Test::More;

# Tables that must not grow with the number of jobs that have been done. Archive, event errors and idempotency keys do:
# they are kept.
my @tables = qw(pgq_job pgq_request pgq_progress pgq_handler pgq_active_handler pgq_queue);

# Names of what is sampled, and how much its floor may rise from one quarter of the samples to the next.
my %slack = (memory => 1024, 'slot lag' => 48 * 1024, 'confirmed lag' => 16 * 1024, 'slot files' => 16 * 1024,
    size => 8 * 1024);

# processes: SQL that gives name and pid of those to watch.
sub new
{
    my ($class, $node, $processes) = @_;
    return bless { node => $node, processes => $processes, series => {}, depths => [] }, $class;
}

sub _note
{
    my ($self, $kind, $name, $value) = @_;
    push @{ $self->{series}{"$kind of $name"}{values} }, $value;
    $self->{series}{"$kind of $name"}{kind} = $kind;
    return;
}

# The memory that is a process's own, in kB: not the server's shared memory, which a process touches bit by bit.
sub _memory
{
    my ($pid) = @_;
    my ($kb) = slurp_file("/proc/$pid/smaps_rollup") =~ /^Anonymous:\s+(\d+) kB/m;
    return $kb;
}

sub _files_below
{
    my ($directory) = @_;
    return sum0 map { -s $_ // 0 } glob("$directory/*/*");
}

sub take
{
    my ($self) = @_;
    my $node = $self->{node};
    my @rows = split /\n/, $node->safe_psql('postgres', "
        $self->{processes};
        SELECT 'slot lag', slot_name, (pg_current_wal_lsn() - restart_lsn)::bigint / 1024 FROM pg_replication_slots;
        SELECT 'confirmed lag', slot_name, (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint / 1024 FROM pg_replication_slots;
        SELECT 'size', relname, pg_total_relation_size(oid) / 1024 FROM pg_class WHERE relname IN ("
          . join(', ', map { "'$_'" } @tables) . ");
        SELECT 'size', relname, pg_relation_size(oid) / 1024 FROM pg_class WHERE relname = 'pgq_job_ready';
        SELECT 'depth', 'pgq_job', count(*) FROM pgq_job");
    foreach my $row (@rows)
    {
        my ($kind, $name, $value) = split /\|/, $row;
        if ($kind eq 'pid')
        {
            $self->_note('memory', $name, _memory($value));
        }
        elsif ($kind eq 'depth')
        {
            push @{ $self->{depths} }, $value;
        }
        else
        {
            $self->_note($kind, $name, $value);
        }
    }
    $self->_note('slot files', 'pg_replslot', _files_below($node->data_dir . '/pg_replslot') / 1024);
    return;
}

# Lists of samples: those of the second, third and last quarter. The first is for warming up.
sub _quarters
{
    my (@values) = @_;
    my $n = @values / 4;
    return map { [ @values[ int($_ * $n) .. int(($_ + 1) * $n) - 1 ] ] } (1 .. 3);
}

# What comes and goes has its floor where it was; what leaks has not. A step is none yet: the memory allocator keeps what
# was needed once. So a floor must rise from each quarter to the next. Tables never shrink while they are in use, so they
# may be as large as the deepest queue so far has made them.
sub do_not_grow
{
    my ($self) = @_;
    my @deep = map { max(@$_) } _quarters(@{ $self->{depths} });
    foreach my $name (sort keys %{ $self->{series} })
    {
        my $series = $self->{series}{$name};
        my @floors = map { min(@$_) } _quarters(@{ $series->{values} });
        my $rises = grep {
            my $factor = $series->{kind} eq 'size' ? 1.5 * max(1, $deep[ $_ + 1 ] / max(1, $deep[$_])) : 1;
            $floors[ $_ + 1 ] > $floors[$_] * $factor + $slack{ $series->{kind} };
        } (0, 1);
        cmp_ok($rises, '<', 2, "$name does not grow") or diag("$name: " . join(' ', map { int } @{ $series->{values} }));
    }
    return;
}

# Of each name: lowest and highest value, and the floors that are compared.
sub report
{
    my ($self) = @_;
    my @lines = map {
        my @values = @{ $self->{series}{$_}{values} };
        my @floors = map { min(@$_) } _quarters(@values);
        sprintf('%-34s %8d to %8d, floors %8d %8d %8d', $_, min(@values), max(@values), @floors);
    } sort keys %{ $self->{series} };
    return join("\n", @lines, 'live jobs: at most ' . max(@{ $self->{depths} }));
}

1;
