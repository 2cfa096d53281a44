# What others change while the enqueuer is converting a batch, and between the events of one: it must not go on with rights,
# functions or queues that are gone, nor with what it has made of another source.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;
use PsqlSession;

my $node = PgqNode->create('batch', "autovacuum = off\npgq_ext.expression_timeout = 0\n");
my $sql = sub { return $node->safe_psql('postgres', @_) };

$sql->('CREATE EXTENSION pgq_ext');
$sql->(q{
    CREATE TABLE gate(n int);
    CREATE TABLE ev(k text);
    CREATE FUNCTION pass(n int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(n); RETURN true; END $$;
    CREATE FUNCTION label() RETURNS text IMMUTABLE RETURN 'old';
    CREATE ROLE reader;
    GRANT SELECT ON ev TO reader;
    SELECT pgq_grant('reader', 'administer');
    SELECT pgq_create_queue('short');
    SELECT pgq_create_handler('gate', 'gate', filter => 'pass(n)');
    SELECT pgq_create_handler('labelled', 'ev', 'label()');
    SELECT pgq_create_handler('short', 'ev', queue => 'short');
    SET ROLE reader;
    SELECT pgq_create_handler('read', 'ev')});
$sql->('SELECT pgq_sync()');
my ($keeper, $other) = map { PsqlSession->new($node->connstr('postgres')) } 1 .. 2;

# Waits until the enqueuer stands at that gate.
sub stands_at
{
    my ($gate) = @_;
    return $node->poll_query_until('postgres', qq{SELECT EXISTS (SELECT FROM pg_locks JOIN pgq_enqueuer USING (pid)
        WHERE locktype = 'advisory' AND objid = $gate AND NOT granted)});
}

# Makes one batch of the transactions, and stops the enqueuer in its middle, at gate 1: in front of the gate it stands in
# another batch while they are committed.
sub batch
{
    my (@transactions) = @_;
    $keeper->query('SELECT pg_advisory_lock(0), pg_advisory_lock(1)');
    $sql->('INSERT INTO gate VALUES (0)');
    stands_at(0) or die 'no enqueuer at the first gate';
    $sql->($_) foreach @transactions;
    $keeper->query('SELECT pg_advisory_unlock(0)');
    return stands_at(1);
}

sub go_on
{
    $keeper->query('SELECT pg_advisory_unlock(1)');
    return $sql->(q{SELECT pgq_sync('60 s')});
}

my @ev = (q{INSERT INTO ev VALUES ('before')}, 'INSERT INTO gate VALUES (1)', q{INSERT INTO ev VALUES ('after')});
ok(batch(@ev), 'in a batch');
$sql->(q{CREATE OR REPLACE FUNCTION label() RETURNS text IMMUTABLE RETURN 'new'});
go_on();
is($sql->(q{SELECT args ->> 'k', serialization_key FROM pgq_jobs WHERE handler = 'labelled' ORDER BY position}),
    "before|old\nafter|new", 'a function that is replaced is not used any more');

# An error brings all of the batch once more.
ok(batch(@ev), 'in a batch');
$sql->('REVOKE SELECT ON ev FROM reader');
go_on();
is($sql->(q{SELECT handler, event ->> 'k', sqlstate FROM pgq_event_errors ORDER BY error_id}),
    "read|before|42501\nread|after|42501", 'nor a right that is revoked');
is($sql->(q{SELECT count(*) FROM pgq_jobs WHERE handler = 'read'}), 2, 'and no job is made by it');

# A queue can't be dropped under the enqueuer.
$sql->('SELECT pgq_complete(array_agg(job_id), array_agg(attempt)) FROM pgq_dequeue(10, \'short\')');
ok(batch(q{INSERT INTO ev VALUES ('last')}, 'INSERT INTO gate VALUES (1)'), 'in a batch with a job of the queue');
$other->send(q{SELECT pgq_drop_handler('short'); SELECT pgq_drop_queue('short')});
ok($node->poll_query_until('postgres', 'SELECT wait_event_type = \'Lock\' FROM pg_stat_activity WHERE pid = ' . $other->pid),
    'who drops it waits');
go_on();
$other->query('SELECT');
is($sql->(q{SELECT args ->> 'k' FROM pgq_dequeue(10, 'short')}), 'last', 'and the job can be worked');
is($sql->(q{SELECT count(*) FROM pgq_queues WHERE queue = 'short'}), 1, 'as its queue is there');

# Nor does the enqueuer wait for who drops one, handler and all: he may take his time.
my $namesake = $sql->(q{SELECT 'q' || min(i) FROM generate_series(1, 100000) i
    WHERE hashtext('q' || i)::bigint & 1023 = hashtext('brief')::bigint & 1023});
$sql->(qq{SELECT pgq_create_queue('brief'), pgq_create_queue('$namesake');
    SELECT pgq_create_handler('brief', 'ev', queue => 'brief'); SELECT pgq_sync()});
$other->query(qq{BEGIN; SELECT pgq_drop_queue('$namesake')});
$sql->(q{INSERT INTO ev VALUES ('brief'); SELECT pgq_sync('60 s')});
is($sql->(q{SELECT count(*) FROM pgq_jobs WHERE handler = 'brief'}), 1, 'another queue that is being dropped is no obstacle');
$other->query(q{ROLLBACK});
$sql->(q{SELECT pgq_complete(job_id, attempt) FROM pgq_dequeue(10, 'brief')});
$other->query(q{BEGIN; SELECT pgq_drop_handler('brief'); SELECT pgq_drop_queue('brief')});
$sql->(q{INSERT INTO ev VALUES ('too late'); SELECT pgq_sync('60 s')});
is($sql->(q{SELECT sqlstate FROM pgq_event_errors WHERE handler = 'brief'}), '55006', 'an event for a queue that is being dropped is an error');
$other->query('COMMIT');
is($sql->(q{SELECT count(*) FROM pgq_queues WHERE queue = 'brief'}), 0, 'and the queue can go');

# More sources in turn than are kept open, with one handler, which is compiled anew on the way.
$sql->(q{CREATE TABLE part(n int) PARTITION BY LIST (n);
    SELECT format('CREATE TABLE part%s PARTITION OF part FOR VALUES IN (%s)', i, i) FROM generate_series(1, 70) i \gexec
    SELECT pgq_create_handler('part', 'part', 'label()'); SELECT pgq_sync()});
my @each = map { "INSERT INTO part VALUES ($_)" } 1 .. 70;
ok(batch(join('; ', @each[0 .. 9]), 'INSERT INTO gate VALUES (1)', join('; ', @each), join('; ', reverse @each)), 'in a batch of many sources');
$sql->(q{CREATE OR REPLACE FUNCTION label() RETURNS text IMMUTABLE RETURN 'newer'});
go_on();
is($sql->(q{SELECT serialization_key, count(*), count(DISTINCT args) FROM pgq_jobs WHERE handler = 'part' GROUP BY 1 ORDER BY min(position)}),
    "new|10|10\nnewer|140|70", 'each has its jobs');

$_->quit foreach $keeper, $other;
$node->log_is_clean;
PgqNode::done();
