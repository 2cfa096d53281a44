# Runs the files in test/pgtap, each in a database where the extension is in public, and in one where it is in a schema of
# an odd name and was created with a hostile search_path and hostile default privileges. What they print is TAP; each of
# their tests becomes one of ours.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('pgtap');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('postgres', 'CREATE DATABASE chosen');
$node->safe_psql($_, 'CREATE SCHEMA tap; CREATE EXTENSION pgtap SCHEMA tap') foreach ('plain', 'chosen');
$node->safe_psql('plain', 'CREATE EXTENSION pgq_ext');
$node->safe_psql('chosen', q{
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO PUBLIC;
    CREATE ROLE favoured;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO favoured;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO favoured;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO favoured;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TYPES TO favoured;
    CREATE SCHEMA "Odd.Schema with % and blanks";
    CREATE SCHEMA hostile;
    CREATE FUNCTION hostile.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS $$ SELECT 'SELECT 1/0' $$;
    CREATE FUNCTION hostile.pg_extension_config_dump(regclass, text) RETURNS void LANGUAGE sql AS '';
    CREATE TABLE hostile.pgq_queue (queue text);
    SET search_path = hostile, pg_catalog;
    CREATE EXTENSION pgq_ext SCHEMA "Odd.Schema with % and blanks";
});

foreach my $file (sort glob "$FindBin::RealBin/../pgtap/*.sql")
{
    my ($name) = $file =~ m{([^/]+)\.sql$};
    foreach my $database ('plain', 'chosen')
    {
        subtest "$name in $database" => sub { run_file($database, $file) };
    }
}
$node->log_is_clean;
PgqNode::done();

# Runs one file and reports what it says, one test for one.
sub run_file
{
    my ($database, $file) = @_;
    my ($out, $err) = ('', '');
    my @psql = ('psql', '-XqAt', '-d', $node->connstr($database), '-f', $file);
    IPC::Run::run(\@psql, '>', \$out, '2>', \$err);
    my ($planned) = $out =~ /^1\.\.(\d+)$/m;
    my $ran = 0;
    foreach my $line (split /\n/, $out)
    {
        if ($line =~ /^(not )?ok \d+(?: - (.*))?$/)
        {
            ok(!defined $1, $2);
            $ran++;
        }
        elsif ($line =~ /^#/)
        {
            diag($line);
        }
    }
    is($ran, $planned, 'all that was planned has run');
    is($err, '', 'and psql had nothing to complain about');
    return;
}
