# A server under the load of test/load/schema.sql: clients that go on through crashes, and the comparison of what was
# committed with what became of it.
package PgqLoad;

use strict;
use warnings;
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use PgqNode;

our @ISA = ('PgqNode');

my $schema = "$FindBin::RealBin/../load/schema.sql";

# A started server; the load would fill the log.
sub create
{
    my ($class, $name, $conf, %params) = @_;
    return PgqNode::create($class, $name, "log_statement = 'none'\n" . ($conf // ''), %params);
}

# A client runs its script again and again, as long as the script is there; it goes with the test's directory. The
# server may be down: then it pauses, so that it does not take the processor from those who start it.
my $client = <<'EOF_CLIENT';
while [ -e "$1" ]; do
    psql -XqAt -d "$0" -f "$1" >>"$2" 2>&1
    [ $? -ne 2 ] || sleep 0.1
done
EOF_CLIENT

# What is left prepared by a crash is committed first: it holds a key's lock.
my $two_phase = <<'EOF_PRODUCE';
SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts WHERE gid = '%NAME%' \gexec
BEGIN;
SELECT insert_events(1);
PREPARE TRANSACTION '%NAME%';
COMMIT PREPARED '%NAME%';
BEGIN;
SELECT insert_events(1);
PREPARE TRANSACTION '%NAME%';
ROLLBACK PREPARED '%NAME%';
CALL produce(10);
EOF_PRODUCE

my %scripts = (
    'producer 1' => $two_phase,
    'producer 2' => 'CALL produce(20);',
    'worker' => 'CALL work(20);',
    'checker' => q{SELECT 'broken: ' || c::text FROM pgq_check() c; SELECT pg_sleep(0.05);},
    'operator' => 'CALL change_handlers(5);');

# Makes the load's database objects.
sub create_load
{
    my ($self) = @_;
    $self->safe_psql('postgres', slurp_file($schema));
    $self->safe_psql('postgres', q{SELECT pgq_sync('60 s')});
    return;
}

# Starts the clients; more: scripts of further ones, by name, or undef where one is not wanted.
sub start_load
{
    my ($self, %more) = @_;
    my $dir = PostgreSQL::Test::Utils::tempdir;
    my %all = (%scripts, %more);
    push @{ $self->{outputs} }, "$dir/output";
    delete @all{ grep { !defined $all{$_} } keys %all };
    foreach my $name (sort keys %all)
    {
        (my $file = "$dir/$name.sql") =~ s/ //g;
        (my $script = $all{$name}) =~ s/%NAME%/$name/g;
        append_to_file($file, $script);
        push @{ $self->{scripts} }, $file;
        push @{ $self->{clients} }, IPC::Run::start(
            [ 'bash', '-c', $client, $self->connstr('postgres'), $file, "$dir/output" ],
            '<', \undef, '>', \my $out, '2>', \my $err);
    }
    return;
}

# Lets the clients come to their end. One of them has looked for violations all the time.
sub stop_clients
{
    my ($self) = @_;
    unlink @{ delete $self->{scripts} };
    IPC::Run::finish($_) foreach @{ delete $self->{clients} };
    my @broken = grep { /^broken: / } map { split /\n/, slurp_file($_) } @{ delete $self->{outputs} };
    return is(join("\n", @broken), '', 'pgq_check has found nothing, at any moment');
}

# The same, and finishes what they have prepared.
sub stop_load
{
    my ($self) = @_;
    $self->stop_clients;
    $self->await_server;
    $self->safe_psql('postgres', "COMMIT PREPARED '$_'")
      foreach split /\n/, $self->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
    return;
}

# Drops the slot under the enqueuer.
sub lose_slot
{
    my ($self) = @_;
    $self->safe_psql('postgres', q{
        DO $$
        BEGIN
            LOOP
                PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active;
                BEGIN
                    PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots;
                    EXIT;
                EXCEPTION WHEN object_in_use THEN
                    NULL;
                END;
            END LOOP;
        END $$});
    return;
}

# Waits until the server lets clients in.
sub await_server
{
    my ($self) = @_;
    # The query is an argument: a psql that can't connect does not read what it is given, and that would be an error.
    my @query = ('psql', '-XAt', '-d', $self->connstr('postgres'), '-c', 'SELECT NOT pg_is_in_recovery()');
    for my $attempt (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
    {
        my ($out) = run_command(\@query);
        return if $out eq 't';
        usleep(100_000);
    }
    die 'the server does not come back';
}

# Waits for all commits so far, with the load going on or not, and compares. Returns a hash of the report.
sub compare
{
    my ($self) = @_;
    my $row = $self->safe_psql('postgres', q{
        CREATE TEMP TABLE seen AS TABLE expected;
        SELECT pgq_sync('60 s');
        SELECT concat_ws(',', events, lost, doubled, unwanted, disordered, (SELECT count(*) FROM pgq_check()), details) FROM report()});
    $row =~ s/^\s+//;
    my %report;
    @report{qw(events lost doubled unwanted disordered broken details)} = split /,/, $row, 7;
    return \%report;
}

# Compares, and complains when there is anything to complain about.
sub is_exact
{
    my ($self, $name) = @_;
    return $self->_is($name, qw(lost doubled unwanted disordered broken));
}

# The same, but for the order.
sub is_complete
{
    my ($self, $name) = @_;
    return $self->_is($name, qw(lost doubled unwanted broken));
}

sub _is
{
    my ($self, $name, @what) = @_;
    my $report = $self->compare;
    my $found = join ', ', map { "$_ $report->{$_}" } @what;
    is($found, join(', ', map { "$_ 0" } @what), "$name: $report->{events} events") or diag($report->{details});
    return $report;
}

# After the load: works off all jobs, so that a key that is stuck is found.
sub drain
{
    my ($self) = @_;
    my $live = q{pgq_jobs WHERE status IN ('pending', 'in_progress')};
    $self->poll_query_until('postgres', "CALL work(100, false); SELECT count(*) = 0 FROM $live", "CALL\nt")
      or diag($self->safe_psql('postgres', "SELECT * FROM $live LIMIT 10"));
    return is($self->safe_psql('postgres', "SELECT count(*) FROM $live"), 0, 'no key is stuck');
}

# Starts a server that has been killed. Children of a postmaster that was killed end by themselves; as long as one of
# them is there, no other postmaster starts.
sub start_again
{
    my ($self) = @_;
    for my $attempt (1 .. 500)
    {
        return if $self->start(fail_ok => 1);
        $self->{_pid} = undef; # or it would take the killed one for running
    }
    die 'the server does not start';
}

# To be called last where crashes are part of the test: nothing else went wrong.
sub log_has_no_panic
{
    my ($self) = @_;
    my @bad = grep { /PANIC|TRAP:|signal 1?1:|signal 6:/ } split /\n/, slurp_file($self->logfile);
    return is("@bad", '', 'no crash but those that were provoked');
}

1;
