# The pure C++, without a server: compiles each program of test/unit and passes on what it says in TAP.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $build = PostgreSQL::Test::Utils::tempdir;
my $compiler = $ENV{CXX} || 'g++';

# Runs a program whose output is TAP; each of its tests becomes one of ours.
sub pass_on
{
    my ($name, $program) = @_;
    my ($out, $err) = run_command([$program]);
    my @tests = grep { /^(not )?ok / } split /\n/, $out;
    foreach my $test (@tests)
    {
        my ($bad, $what) = $test =~ /^(not )?ok \d+ - (.*)/;
        ok(!$bad, "$name: $what");
    }
    like($out, qr/^1\.\.${\ scalar @tests}$/m, "$name came to its end");
    return;
}

foreach my $source (sort glob("$root/test/unit/*_test.cpp"))
{
    my ($name) = $source =~ m{([^/]+)_test\.cpp$};
    system_or_bail($compiler, '-std=c++17', '-Wall', '-Wextra', '-Werror', "-I$root/src", '-o', "$build/$name", $source);
    pass_on($name, "$build/$name");
}
done_testing();
