# The library compiles without a warning with g++ and with clang (which the server's development package brings along):
# as users have it, and with the fault points and the server's assertions.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
my ($clang) = grep { -x } ('/usr/bin/clang++', sort glob('/usr/bin/clang++-*'));
ok($clang, 'clang is there') or BAIL_OUT('install clang');

# Every warning is an error, and -fsyntax-only gives them all.
sub compiles
{
    my ($name, $compiler, @settings) = @_;
    my $build = PostgreSQL::Test::Utils::tempdir;
    system_or_bail('cp', '-R', "$root/src", "$root/sql", "$root/doc", "$root/Makefile", "$root/pgq_ext.control", $build);
    system_or_bail('find', $build, '-name', '*.o', '-delete');
    my ($out, $err) = run_command(['make', '-s', '-j2', '-C', $build, "PG_CONFIG=$pg_config", "CXX=$compiler",
        'EXTRA_CXXFLAGS=-fsyntax-only', @settings, 'objects']);
    is($err, '', "$name: no warning");
    return;
}

compiles('g++', 'g++', 'ASSERTS=');
compiles('clang', $clang, 'ASSERTS=1', 'FAULTS=1');
done_testing();
