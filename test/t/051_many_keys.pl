# More keys than are worth a search each: whether a key is new, the enqueuer then knows without looking (key_filter.hpp). A key
# that has a live job must be recognised all the same, and no job may start before the one in front of it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $keys = 30000;
my $node = PgqNode->create('keys', "autovacuum = off\n");
my $sql = sub { return $node->safe_psql('postgres', @_) };

# Events for the keys from .. to, in transactions of a thousand and of all, and what has become of them.
sub insert
{
    my ($from, $to, $transaction) = @_;
    for (my $first = $from; $first <= $to; $first += $transaction)
    {
        my $last = $first + $transaction - 1 < $to ? $first + $transaction - 1 : $to;
        $sql->("INSERT INTO ev(k) SELECT 'k' || i FROM generate_series($first, $last) i");
    }
    $sql->(q{SELECT pgq_sync('10 min')});
    return;
}

sub states { return $sql->('SELECT state, count(*) FROM pgq_job GROUP BY state ORDER BY state') }

$sql->('CREATE EXTENSION pgq_ext');
$sql->(q{CREATE TABLE ev(id bigserial PRIMARY KEY, k text); SELECT pgq_sync()});
$sql->(q{SELECT pgq_create_handler('ev', 'ev', 'k')});

insert(1, $keys, 1000);
is(states(), "r|$keys", 'the first job of each key is its head');
insert(1, $keys, $keys);
is(states(), "r|$keys\nw|$keys", 'the second waits behind it, in one transaction');
insert(1, $keys, 1000);
is(states(), "r|$keys\nw|" . 2 * $keys, 'and the third, in many');
insert($keys + 1, $keys + 10, 10);
is(states(), 'r|' . ($keys + 10) . "\nw|" . 2 * $keys, 'a new key has a head');

# A key whose jobs are all gone begins anew; one with a job that is leased doesn't.
$sql->(q{UPDATE pgq_queue SET lease = '1 h'; CREATE TABLE mine AS SELECT * FROM pgq_dequeue(1000000)});
$sql->(q{SELECT pgq_complete(array_agg(job_id), array_agg(attempt)) FROM mine WHERE job_id % 2 = 0});
is($sql->(q{SELECT count(*) FROM pgq_job WHERE state = 'w'}), 2 * $keys - $keys / 2, 'a completed job lets the next one go');
$sql->('DELETE FROM mine WHERE job_id % 2 = 0');
my $gone = $sql->(q{SELECT count(*) FROM generate_series(1, 10) i WHERE NOT EXISTS
    (SELECT FROM pgq_job WHERE serialization_key = 'k' || i + } . $keys . ')');
my $waiting = $sql->(q{SELECT count(*) FROM pgq_job WHERE state = 'w'});
insert($keys + 1, $keys + 10, 10);
is($sql->(q{SELECT count(*) FROM pgq_job WHERE state = 'w'}), $waiting + 10 - $gone, 'a key whose job is gone begins anew');

# More keys than it was made for.
$sql->('TRUNCATE ev');
insert(100001, 700000, 600000);
insert(699001, 700000, 1000);
is($sql->(q{SELECT count(*) FILTER (WHERE state = 'r'), count(*) FILTER (WHERE state = 'w') FROM pgq_job
    WHERE substr(serialization_key, 2)::int > 100000}), '600000|1000', 'very many keys');

$node->restart;
insert(1, $keys, 1000);
is($sql->(q{SELECT count(*) FROM pgq_job j WHERE state = 'r' AND EXISTS (SELECT FROM pgq_job e
    WHERE e.key_hash = j.key_hash AND e.position < j.position)}), 0, 'nothing is in front of what is ready, after a restart');
PgqNode::done();
