# While an enqueuer waits for its slot, which may take as long as the longest transaction: due jobs are moved by dequeue, a
# copied database loses nothing, and however often the enqueuer is terminated, it is soon back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PgqNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PgqNode->create('waiting');

# A transaction with an xid, for which slots are waited.
my $open = $node->background_psql('postgres');
$node->safe_psql('postgres', 'CREATE DATABASE a');
$node->safe_psql('a', 'CREATE EXTENSION pgq_ext; CREATE TABLE late (k text); SELECT pgq_create_queue(\'q\', 2)');
$node->create_events('a');
$node->safe_psql('a', q{INSERT INTO ev(k) VALUES ('x'); SELECT pgq_sync('60 s')});

# Terminated over and over: a failing enqueuer would be left alone for ever longer.
for my $time (1 .. 5)
{
    my $pid = $node->enqueuer('a');
    $node->safe_psql('a', "SELECT pg_terminate_backend($pid)");
    $node->poll_query_until('a', "SELECT pid <> $pid AND state = 'streaming' FROM pgq_enqueuer");
}
is($node->safe_psql('a', q{INSERT INTO ev(k) VALUES ('y'); SELECT pgq_sync('10 s'); SELECT count(*) FROM pgq_jobs}),
    "\n2", 'a terminated enqueuer is no failing one');

# A lease runs out and a retry becomes due while there is no slot.
$open->query_safe('BEGIN; SELECT pg_current_xact_id()');
my $pid = $node->enqueuer('a');
$node->safe_psql('a', q{INSERT INTO ev(k) VALUES ('z')});
$node->safe_psql('a', qq{SELECT pg_terminate_backend($pid)});
$node->poll_query_until('a', q{SELECT NOT active FROM pg_replication_slots WHERE database = 'a'});
$node->safe_psql('a', q{SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = 'a'});
$node->poll_query_until('a', q{SELECT state = 'creating slot' FROM pgq_enqueuer});
$node->safe_psql('a', q{SELECT pgq_fail(min(job_id), 1, 'once', '1 ms') FROM pgq_dequeue(2, lease => '1 ms')});
is($node->safe_psql('a', 'SELECT count(*) FROM pgq_dequeue(10) WHERE attempt = 2'), '2', 'dequeue moves what is due while the slot is made');

# A copy of the database: a handler and events that come while its slot is made.
$node->safe_psql('postgres', 'CREATE DATABASE b TEMPLATE a');
$node->poll_query_until('b', q{SELECT state = 'creating slot' FROM pgq_enqueuer});
$node->safe_psql('b', q{SELECT pgq_create_handler('late', 'late', 'k')});
$node->safe_psql('b', q{INSERT INTO late VALUES ('one'); INSERT INTO ev(k) VALUES ('one'); SELECT pgq_enqueue('asked', '{}', 'one')});
$node->safe_psql('b', q{SELECT pg_terminate_backend(pid) FROM pgq_enqueuer});
$node->safe_psql('b', q{INSERT INTO late VALUES ('two')});
$open->query_safe('COMMIT');
$open->quit;
is($node->safe_psql('b', q{SELECT pgq_sync('60 s'); INSERT INTO late VALUES ('three'); SELECT pgq_sync('60 s');
    SELECT string_agg(handler || ' ' || serialization_key, ', ' ORDER BY position) FROM pgq_jobs
     WHERE serialization_key IN ('one', 'two', 'three')}),
    "\n\nlate one, ev one, asked one, late two, late three", 'a copied database begins with what commits in it');
is($node->safe_psql('a', q{SELECT pgq_sync('60 s'); SELECT count(*) FROM pgq_jobs WHERE serialization_key = 'z'}),
    "\n1", 'the original goes on');
is($node->safe_psql('b', 'SELECT count(*) FROM pgq_check()'), '0', 'the rules are kept');

PgqNode::done();
