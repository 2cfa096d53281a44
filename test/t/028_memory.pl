# The memory of the enqueuer depends neither on how large a transaction is nor on how much it has done before.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use DecodeNode;

my $node = DecodeNode->create('memory', "pgq_ext.decoding_work_mem = '1MB'\nlog_statement = none");
$node->safe_psql('postgres', q{
    CREATE EXTENSION pgq_ext;
    CREATE TABLE ev(id bigserial PRIMARY KEY, k text, big text);
    ALTER TABLE ev ALTER COLUMN big SET STORAGE EXTERNAL;
    SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k', args => $$jsonb_build_object('id', id, 'length', length(big))$$);
    SELECT pgq_create_handler('raises', 'ev', filter => 'id % 50 = 0', args => $$jsonb_build_object('id', id, 'x', 1 / (id % 50))$$);
    CREATE PROCEDURE change_handlers(times int) LANGUAGE plpgsql AS $$
    BEGIN
        FOR i IN 1 .. times LOOP
            PERFORM pgq_alter_handler('ev', priority => i::text);
            COMMIT;
            PERFORM pgq_create_handler('brief', 'ev');
            COMMIT;
            PERFORM pgq_drop_handler('brief');
            INSERT INTO ev (k, big) VALUES (i % 7, repeat('x', 10000));
            PERFORM pgq_enqueue('direct', '{}', run_at => now() + '10 ms');
            PERFORM pgq_cancel(pgq_enqueue('direct', '{}'));
            COMMIT;
        END LOOP;
    END $$});
my $pid = $node->enqueuer('postgres');

# Bytes in use, of the contexts that live as long as the process, without those below them.
sub memory_in_use
{
    my $start = -s $node->logfile;
    $node->safe_psql('postgres', "SELECT pgq_sync('60 s'); SELECT pg_log_backend_memory_contexts($pid)");
    $node->wait_for_log(qr/Grand total/, $start);
    my $said = slurp_file($node->logfile, $start);
    return map { $said =~ /; $_: .*; (\d+) used/ ? $1 : die "no context $_" } ('TopMemoryContext', 'pgq_ext enqueuer');
}

# Each thing that an enqueuer does, many times: what it needs for it is there after the first.
$node->safe_psql('postgres', 'CALL change_handlers(50)');
my @before = memory_in_use();
$node->safe_psql('postgres', 'CALL change_handlers(300)');
my @after = memory_in_use();
cmp_ok($after[$_] - $before[$_], '<', 8192, 'nothing is left in ' . ('TopMemoryContext', 'the context of the process')[$_]) foreach (0, 1);

# How much it had in memory at most, in MB. The server's buffers are small, so nearly all is the process's own.
sub peak
{
    my ($kb) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m;
    return $kb / 1024;
}

# Large transactions: many rows that move to another partition, and 200 MB of rows that are large.
SKIP: {
    skip 'no /proc here', 4 if !-r "/proc/$pid/status";
    $node->safe_psql('postgres', q{
        CREATE TABLE parted(id bigserial, p int) PARTITION BY LIST (p);
        CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
        CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
        INSERT INTO parted (p) SELECT 1 FROM generate_series(1, 100000);
        SELECT pgq_sync('60 s'); SELECT pgq_create_handler('parted', 'parted')});
    my $peak = peak();
    $node->safe_psql('postgres', 'UPDATE parted SET p = 2');
    $node->is_exact('postgres', 'parted', 'parted', 'false', 'rows that moved are no events');
    cmp_ok(peak() - $peak, '<', 10, 'they need little memory, however many');
    $node->safe_psql('postgres', q{INSERT INTO ev (k, big) SELECT i % 7, repeat(md5(i::text), 6400) FROM generate_series(1, 1000) i});
    $node->is_exact('postgres', 'ev', 'ev', 'true', 'the large transaction has its jobs');
    cmp_ok(peak(), '<', 100, 'at no time was all of it in memory');
}
is($node->enqueuer('postgres'), $pid, 'it was one process all the time');
$node->is_exact('postgres', 'ev', 'raises', 'id % 50 = 0', 'what raised is recorded');
$node->log_is_clean;
$node->stop;
PgqNode::done();
