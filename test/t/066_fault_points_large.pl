# At every fault point that is passed while a large transaction is converted in pieces, every action, under a mixed load:
# nothing is lost, doubled or out of order. And the same when the slot is lost in the middle, with its WAL or without.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqFaults;

my %points = PgqFaults::points();
my @points = grep { $points{$_} =~ /pieces\.cpp/ } sort keys %points;
cmp_ok(scalar @points, '>=', 3, 'pieces have fault points');

my $node = PgqFaults->create('faults', "wal_keep_size = '1GB'\npgq_ext.decoding_work_mem = '64kB'\n");
my $large = sub { $node->safe_psql('postgres', 'SELECT insert_bulk(6000)') };
$node->hit_all($large, @points);

# Stops in the middle of a large transaction, with something parked behind it, and lets something happen.
sub in_the_middle
{
    my ($begin, $do) = @_;
    $node->set_fault('after_piece', 'wait');
    $begin->();
    $node->await_fault('after_piece');
    $node->safe_psql('postgres', 'SELECT insert_bulk(30)');
    $do->();
    $node->safe_psql('postgres', 'SELECT insert_bulk(30)');
    return;
}

# The slot, and the WAL that tells the order of commits.
sub lose_slot_and_wal
{
    $node->lose_slot;
    $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
    $node->safe_psql('postgres', 'CHECKPOINT');
    return;
}

sub is_complete
{
    my ($name) = @_;
    $node->is_complete($name);
    is($node->safe_psql('postgres', q{SELECT count(*) FROM pgq_jobs WHERE created_at < now() - interval '1 day'}), 0,
        "$name: jobs are as old as their events");
    return;
}

in_the_middle($large, sub { $node->lose_slot });
is_complete('slot lost in the middle');

# What was made of the first part is recognised, whatever has become of it since: here a dead letter and an event error that
# are tried again with success.
$node->safe_psql('postgres', q{
    CREATE FUNCTION fragile(id bigint) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN RAISE 'not yet'; END $$;
    SELECT pgq_create_queue('fragile', max_attempts => 1);
    SELECT pgq_create_handler('fragile', 'bulk', filter => 'id % 97 = 0', args => 'fragile(id)', queue => 'fragile');
    SELECT pgq_create_handler('dead', 'bulk', filter => 'id % 97 = 0', queue => 'fragile');
    SELECT pgq_sync('60 s')});
my $first = $node->safe_psql('postgres', q{SELECT max(id) FROM bulk});
in_the_middle(sub { $node->safe_psql('postgres', 'SELECT insert_bulk(15000)') }, sub {
    $node->safe_psql('postgres', q{
        CREATE OR REPLACE FUNCTION fragile(id bigint) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('id', id) $$;
        SELECT pgq_retry_event(error_id) FROM pgq_event_errors WHERE handler = 'fragile';
        SELECT pgq_fail(job_id, attempt, 'for good') FROM pgq_dequeue(10, 'fragile');
        SELECT pgq_retry(job_id) FROM pgq_jobs WHERE handler = 'dead' AND status = 'failed'});
    $node->set_fault('after_piece', 'wait');
    $node->go('after_piece');
    $node->await_fault('after_piece');
    is($node->safe_psql('postgres', q{
        SELECT (SELECT count(*) FROM pgq_event_errors WHERE handler = 'fragile'),
               (SELECT count(*) FROM pgq_jobs WHERE handler = 'dead' AND status = 'pending' AND attempt = 1)}), '0|10',
        'tried again before the last piece');
    $node->lose_slot;
});
$node->safe_psql('postgres', q{SELECT pgq_sync('60 s')});
foreach my $handler ('fragile', 'dead')
{
    is($node->safe_psql('postgres', qq{
        SELECT count(*) - count(DISTINCT args ->> 'id'), count(*) - (SELECT count(*) FROM bulk WHERE id > $first AND id % 97 = 0)
          FROM pgq_jobs WHERE handler = '$handler'}), '0|0', "$handler: one job for each event");
}
$node->safe_psql('postgres', q{
    SELECT pgq_drop_handler('fragile'), pgq_drop_handler('dead');
    SELECT pgq_sync('60 s');
    SELECT pgq_cancel(job_id) FROM pgq_jobs WHERE handler IN ('fragile', 'dead');
    DELETE FROM pgq_archive WHERE handler IN ('fragile', 'dead')});
is_complete('slot lost when something was tried again');

# A large transaction of few events is done in pieces, too: its other rows are many, and are passed over piece by piece.
$node->safe_psql('postgres', 'CREATE TABLE aside(a text)');
in_the_middle(sub {
    $node->safe_psql('postgres', q{
        BEGIN;
        SELECT insert_bulk(3);
        INSERT INTO aside SELECT repeat('a', 100) FROM generate_series(1, 150000);
        SELECT insert_bulk(3);
        COMMIT})
}, sub { $node->go('after_piece') });
is_complete('few events among many rows');

# What a large transaction gives of a key that had to be left parked is parked as well, all of it, also when the next process
# finds nothing in the way any more.
sub next_piece
{
    $node->set_fault('after_piece', 'wait');
    $node->go('after_piece');
    $node->await_fault('after_piece');
    return;
}
my $holder;
in_the_middle($large, sub {
    $holder = $node->background_psql('postgres');
    next_piece();
    $holder->query_safe(q{BEGIN; SELECT pgq_cancel(min(job_id)) FROM pgq_job WHERE state = 'p' AND serialization_key = 'k1'});
    $node->safe_psql('postgres', 'SELECT insert_bulk(30000)');
    next_piece();
    next_piece();
    next_piece();
    $node->set_fault('after_piece', 'wait');
    kill 'KILL', $node->safe_psql('postgres', 'SELECT pid FROM pgq_enqueuer'); # the server ends all sessions with it
    $holder->{run}->finish;
    $node->await_server;
    $node->await_fault('after_piece');
    is($node->safe_psql('postgres', q{SELECT count(*) > 0, (SELECT count(*) FROM pgq_check()) FROM pgq_job j, pgq_large_transaction l
        WHERE state = 'p' AND position BETWEEN first_position AND next_position}), 't|0', 'parked in the middle, and in order');
    $node->go('after_piece');
});
is_complete('a key that was left parked');

$node->safe_psql('postgres', q{ALTER SYSTEM SET wal_keep_size = 0; SELECT pg_reload_conf()});
in_the_middle($large, \&lose_slot_and_wal);
is_complete('slot lost in the middle, and the WAL, too');
# With more subtransactions than a snapshot of what was converted may have open.
my $subtransactions = sub {
    $node->safe_psql('postgres', q{
        DO $$
        BEGIN
            FOR i IN 1 .. 1200 LOOP
                BEGIN
                    PERFORM insert_bulk(6);
                EXCEPTION WHEN division_by_zero THEN NULL;
                END;
            END LOOP;
        END $$})
};
in_the_middle($subtransactions, \&lose_slot_and_wal);
is_complete('the same with many subtransactions');
ok(2 <= (() = slurp_file($node->logfile) =~ /recovered from the tables alone/g), 'the WAL was gone');
$node->drain;
$node->is_complete('when all is done');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgq_large_transaction'), 0, 'nothing is left to be done');
$node->log_has_no_panic;
PgqNode::done();
