# A server whose enqueuer can be made to lag, and the comparison of a source with what became of it, row by row.
package DecodeNode;

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

our @ISA = ('PgqNode');

# Freezes the database's enqueuer while it is idle, so that it holds no lock, and returns its pid. What commits from now
# on is decoded later, in one go.
sub freeze
{
    my ($self, $database) = @_;
    $self->safe_psql($database, q{SELECT pgq_sync('60 s')});
    my $pid = $self->enqueuer($database);
    $self->poll_query_until($database, "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid")
      or die 'the enqueuer does not come to rest';
    kill 'STOP', $pid;
    return $pid;
}

sub thaw
{
    my ($self, $pid) = @_;
    kill 'CONT', $pid;
    return;
}

# Compares a source that has a column id with what its handlers made of it: each row must be one job, or one event error,
# of each handler. filter: the rows that the handler is to convert, as SQL over the source.
sub is_exact
{
    my ($self, $database, $source, $handler, $filter, $name) = @_;
    my $found = $self->safe_psql($database, qq{
        SELECT pgq_sync('60 s');
        WITH made AS (SELECT (args ->> 'id')::bigint AS id FROM pgq_jobs WHERE handler = '$handler' UNION ALL
                      SELECT (event ->> 'id')::bigint FROM pgq_event_errors WHERE handler = '$handler'),
             times AS (SELECT id, count(*) AS n FROM made GROUP BY id),
             wanted AS (SELECT id FROM $source WHERE $filter)
        SELECT format('lost %s, doubled %s, unwanted %s', count(*) FILTER (WHERE t.id IS NULL), count(*) FILTER (WHERE t.n > 1),
                      count(*) FILTER (WHERE w.id IS NULL))
          FROM wanted w FULL JOIN times t ON t.id = w.id});
    $found =~ s/^\s+//;
    return is($found, 'lost 0, doubled 0, unwanted 0', $name);
}

# The queue's own rules hold.
sub is_consistent
{
    my ($self, $database) = @_;
    return is($self->safe_psql($database, 'SELECT * FROM pgq_check()'), '', 'pgq_check finds nothing');
}

# To be called last where crashes are part of the test: nothing else went wrong.
sub log_has_no_panic
{
    my ($self) = @_;
    my @bad = grep { /PANIC|TRAP:|signal 1?1:|signal 6:/ } split /\n/, slurp_file($self->logfile);
    return is("@bad", '', 'no crash but those that were provoked');
}

1;
