# The key protocol as a model: every configuration of test/model is searched completely, and each broken rule is noticed.
# No server needed, but spin and a C compiler.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $model = "$FindBin::RealBin/../model";
my $outputs = PostgreSQL::Test::Utils::tempdir;
my $at_once = 2; # searches, of less than a gigabyte each

# The lines of a file as lists of words.
sub table
{
    my ($file) = @_;
    return map { [split] } grep { /^[^#\s]/ } split /\n/, slurp_file("$model/$file");
}

# Runs the searches, each a list of arguments of test/model/check, and returns what came of them in the same order: the
# exit status and the output.
sub search_all
{
    my @searches = @_;
    my (%running, @results);
    my $next = 0;
    while ($next < @searches || %running)
    {
        if ($next < @searches && keys %running < $at_once)
        {
            $running{start($next, @{ $searches[$next] })} = $next;
            $next++;
            next;
        }
        my $pid = waitpid(-1, 0);
        my $n = delete $running{$pid};
        $results[$n] = [$? >> 8, slurp_file("$outputs/$n")] if defined $n;
    }
    return @results;
}

sub start
{
    my ($n, @arguments) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    open(STDOUT, '>', "$outputs/$n") or die "open: $!";
    open(STDERR, '>&', \*STDOUT) or die "dup: $!";
    exec("$model/check", '-q', @arguments) or die "exec: $!";
}

my @configurations = map { $_->[0] } table('configurations');
my @mutations = table('mutations');
my @macros_used = sort { $a cmp $b } map { $_->[1] } @mutations;
my %macros = map { $_ => 1 } map { slurp_file("$model/$_") =~ /\b(MUT_[A-Z_]+[A-Z])\b/g } 'keys.pml', 'server.pml';
delete $macros{MUT_NONE};
is_deeply(\@macros_used, [sort keys %macros], 'every mutation of the model is tried');

my @results = search_all(
    (map { [$_] } @configurations),
    (map { [$_, 'MUT_NONE'] } @configurations),
    (map { [$_->[2], $_->[1]] } @mutations));

foreach my $name (@configurations)
{
    my ($status, $output) = @{ shift @results };
    is($status, 0, "$name: nothing is violated") or diag($output);
    note($output);
}

# So that "nothing" above is not for want of anything happening.
foreach my $name (@configurations)
{
    my ($status, $output) = @{ shift @results };
    is($output, "assertion violated jobs_are_left\n", "$name: all jobs can come to their end");
}

foreach my $mutation (@mutations)
{
    my ($rule, $macro, $name, $violated) = @$mutation;
    my ($status, $output) = @{ shift @results };
    if ($violated eq 'nothing')
    {
        is($status, 0, "$macro, in $name: only costs") or diag($output);
    }
    else
    {
        is($output, "assertion violated $violated\n", "$macro, in $name: noticed");
    }
}
done_testing();
