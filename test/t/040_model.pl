# Consumers against a model that counts: compiles test/libpq and runs it on a fresh cluster.
#
# PGQ_MODEL_SEED and PGQ_MODEL_SECONDS choose the seed and the length of the load.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $source = "$FindBin::RealBin/../libpq";
my $build = PostgreSQL::Test::Utils::tempdir;
my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
system_or_bail('make', '-s', '-j2', '-C', $source, "BUILD=$build", "PG_CONFIG=$pg_config");

my $node = PgqNode->create('model', 'max_connections = 60');
$node->safe_psql('postgres', slurp_file("$source/schema.sql"));

# What the program says in TAP becomes ours. Its notes are shown from the first failure on.
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
my $journals = PostgreSQL::Test::Utils::tempdir;
my $seed = $ENV{PGQ_MODEL_SEED} // 1 + int(rand(1000000));
my $seconds = $ENV{PGQ_MODEL_SECONDS} // 12;
open(my $program, '-|', "$build/consumers", $journals, $seed, $seconds) or BAIL_OUT("can't run the program: $!");
my $ended = 0;
while (my $line = <$program>)
{
    chomp $line;
    if ($line =~ /^(not )?ok \d+ - (.*)/)
    {
        ok(!$1, $2);
    }
    elsif ($line =~ /^1\.\./)
    {
        $ended = 1;
    }
    else
    {
        $line =~ s/^# //;
        Test::More->builder->is_passing ? note($line) : diag($line);
    }
}
close($program);
ok($ended, "the program came to its end") or diag("status $?");
diag("PGQ_MODEL_SEED=$seed PGQ_MODEL_SECONDS=$seconds") unless Test::More->builder->is_passing;

$node->log_is_clean;
PgqNode::done();
