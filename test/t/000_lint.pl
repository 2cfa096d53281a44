# Whether the sources keep the project's rules: see test/lint.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my ($out, $err) = run_command(["$FindBin::RealBin/../lint"]);
is($out, 'lint: nothing to complain about', 'nothing to complain about');
is($err, '', 'and lint itself works');
done_testing();
