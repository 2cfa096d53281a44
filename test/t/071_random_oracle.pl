# The oracle of the random workload, where the server forgets the default of an added column, or only seems to: what it says
# of rows on their way is what the extension makes of them and what is known of each case.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use RandomRun;

# A plan of one session, with all rows on their way from the beginning to the end. Each source is one case: it gets a column
# with a default, something happens, and a last change of its shape comes.
package Plan;

my $vacuum = q{SELECT 'VACUUM FULL ' || w.name(%1$d) \gexec};
my $add = q{SELECT w.change(%1$d, 1, 'add constant')};
my $detach = q{SELECT w.change(%1$d, 1, 'detach')};

# The change with the first seed for which it is the one that is meant.
sub change
{
    my ($what, $condition) = @_;
    return "SELECT w.change(%1\$d, min(seed), '$what') FROM generate_series(1, 10000) seed WHERE $condition";
}

# Kind of the source; of its eight rows, how many have a default in the end; what happens.
my @cases = (
    [ 'plain', 8 ],
    [ 'plain', 0, $vacuum ],
    [ 'plain', 8, "BEGIN;\n$vacuum\nROLLBACK" ], # which fails
    [ 'plain', 8, $vacuum, $add ], # of the later one
    [ 'plain', 0, q{SELECT w.change(%1$d, 1, 'add volatile')} ],
    # A domain with a constraint rewrites.
    [ 'plain', 0, change('add constant', q{'w.short' = (SELECT type FROM w.specimen ORDER BY w.hash(seed, type) LIMIT 1)}) ],
    # From text to varchar nothing is rewritten, from uuid to text it is.
    [ 'plain', 8, change('retype', q{w.some_column(w.name(%1$d), seed) = 'c1'}) ],
    [ 'plain', 0, change('retype', q{w.some_column(w.name(%1$d), seed) = 'c2'}) ],
    [ 'list', 8 ],
    [ 'list', 0, $vacuum ],
    [ 'list', 6, $detach ],
    [ 'list', 8, $detach, q{SELECT w.change(%1$d, 1, 'attach')} ],
    [ 'list', 6, q{SELECT w.change(%1$d, 1, 'drop partition')} ]);

sub name
{
    return 'oracle';
}

sub decoding_work_mem
{
    return '4MB';
}

sub setup
{
    my $sources = join '', map { "SELECT w.create_source($_, '$cases[$_][0]', '{text,uuid}', 1);\n" } 0 .. $#cases;
    my $handlers = join '', map { "SELECT w.create_handler('h$_', 'w.s$_', 'row');\n" } 0 .. $#cases;
    return "${sources}SELECT count(*) FROM pg_create_logical_replication_slot(current_database() || '_oracle', 'test_decoding');\n$handlers";
}

sub steps
{
    my @steps = ([ 'server', 'freeze' ]);
    foreach my $no (0 .. $#cases)
    {
        my (undef, undef, @happens) = @{ $cases[$no] };
        my @scripts = ('INSERT INTO w.s%1$d (part) SELECT generate_series(0, 7)', $add, @happens, q{SELECT w.change(%1$d, 0, 'rename')});
        push @steps, map { [ 1, sprintf $_, $no ] } @scripts;
    }
    return @steps;
}

# How many rows have a default, of each source.
sub defaults
{
    return join ' ', map { $_->[1] } @cases;
}

package main;

my $node = RandomRun->server;
RandomRun->round($node, 'Plan');
my $defaults = q{SELECT count(*) FILTER (WHERE key ~ '^a' AND value <> 'null') FROM pgq_jobs, jsonb_each(args) GROUP BY handler ORDER BY substr(handler, 2)::int};
is(join(' ', split /\n/, $node->safe_psql(RandomRun->database('Plan'), $defaults)), Plan->defaults, 'the rows have the defaults that were meant');
$node->log_has_no_panic;
PgqNode::done();
