# The results of one part: samples of each round, and what they are checked against. Printed, and kept as TSV.
package Bench::Results;

use strict;
use warnings;
use POSIX qw(strftime);

# rounds: how many a part makes unless PGQ_BENCH_ROUNDS says otherwise.
sub new
{
    my ($class, $part, $rounds) = @_;
    return bless { part => $part, rounds => $ENV{PGQ_BENCH_ROUNDS} || $rounds, series => {}, order => [], checks => [] }, $class;
}

# A count that PGQ_BENCH_SCALE makes smaller, to try a part out. Such results say nothing.
sub scaled
{
    my ($count) = @_;
    my $scaled = int($count * ($ENV{PGQ_BENCH_SCALE} || 1));
    return $scaled > 1 ? $scaled : 1;
}

# Runs code(round) for each round, and in each the measurements in another order, so that none is always the first.
# measurements: code that gets the round.
sub rounds
{
    my ($self, @measurements) = @_;
    foreach my $round (1 .. $self->{rounds})
    {
        foreach my $i (0 .. $#measurements)
        {
            $measurements[ ($i + $round - 1) % @measurements ]->($round);
        }
    }
    return;
}

# Adds a sample to the series of a scenario and a subject. The n-th sample of every series belongs to the n-th round.
sub sample
{
    my ($self, $scenario, $subject, $unit, $value) = @_;
    my $name = "$scenario/$subject";
    push @{ $self->{order} }, $name unless $self->{series}{$name};
    $self->{series}{$name} //= { scenario => $scenario, subject => $subject, unit => $unit, values => [] };
    push @{ $self->{series}{$name}{values} }, $value;
    printf "  %-34s %-14s %12s %s\n", $scenario, $subject, number($value), $unit;
    return $value;
}

sub median
{
    my @sorted = sort { $a <=> $b } @_;
    return @sorted % 2 ? $sorted[ @sorted / 2 ] : ($sorted[ @sorted / 2 - 1 ] + $sorted[ @sorted / 2 ]) / 2;
}

sub median_of
{
    my ($self, $name) = @_;
    my $series = $self->{series}{$name} // die "no samples of $name";
    return median(@{ $series->{values} });
}

# The median of the rounds' ratios: what disturbs a whole round cancels out.
sub ratio_of
{
    my ($self, $name, $reference) = @_;
    my ($values, $references) = map { ($self->{series}{$_} // die "no samples of $_")->{values} } $name, $reference;
    return median(map { $references->[$_] ? $values->[$_] / $references->[$_] : 0 } 0 .. $#$values);
}

# Checks a value, which may be text, against a bound: 'at least' or 'at most'.
sub check
{
    my ($self, $what, $measured, $bound, $target) = @_;
    my $met = $bound eq 'at least' ? $measured >= $target : $measured <= $target;
    push @{ $self->{checks} }, [ $what, $measured, $bound, $target, $met ? 'yes' : 'no' ];
    return;
}

# Checks the ratio of two series.
sub check_ratio
{
    my ($self, $what, $name, $reference, $bound, $target) = @_;
    return $self->check($what, $self->ratio_of($name, $reference), $bound, $target);
}

sub number
{
    my ($value) = @_;
    return sprintf $value == 0 ? '%d' : abs $value >= 1000 ? '%.0f' : abs $value >= 10 ? '%.1f' : '%.3f', $value;
}

# Prints medians and checks, and writes PGQ_BENCH_RESULTS/PART.tsv.
sub finish
{
    my ($self) = @_;
    print "Medians of $self->{rounds} rounds:\n";
    printf "  %-34s %-14s %12s %s\n", @{ $self->{series}{$_} }{qw(scenario subject)}, number($self->median_of($_)),
      $self->{series}{$_}{unit}
      foreach @{ $self->{order} };
    print "Targets:\n" if @{ $self->{checks} };
    printf "  %-66s %10s  %s %s  %s\n", $_->[0], number($_->[1]), $_->[2], $_->[3], $_->[4] eq 'yes' ? 'met' : 'MISSED'
      foreach @{ $self->{checks} };
    return $self->write;
}

sub write
{
    my ($self) = @_;
    open my $file, '>', "$ENV{PGQ_BENCH_RESULTS}/$self->{part}.tsv" or die "$self->{part}.tsv: $!";
    print {$file} join("\t", @$_), "\n" foreach
      [ 'about', 'date', strftime('%Y-%m-%d', localtime) ],
      [ 'about', 'rounds', $self->{rounds} ],
      [ 'about', 'scale', $ENV{PGQ_BENCH_SCALE} || 1 ];
    foreach my $series (@{ $self->{series} }{ @{ $self->{order} } })
    {
        my $round = 0;
        print {$file} join("\t", 'sample', @$series{qw(scenario subject unit)}, ++$round, $_), "\n" foreach @{ $series->{values} };
    }
    print {$file} join("\t", 'check', @$_), "\n" foreach @{ $self->{checks} };
    close $file or die "$self->{part}.tsv: $!";
    return;
}

1;
