# Runs a plan, as RandomWorkload makes them, in a database of its own, and compares what became of it with the oracle.
package RandomRun;

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use DecodeNode;
use PsqlSession;

my @parts = qw(types sources statements changes oracle);
my $sessions = 4;

# A server for rounds.
sub server
{
    return DecodeNode->create('random', <<'EOF_CONF');
autovacuum = off
log_statement = none
log_min_error_statement = panic
deadlock_timeout = 100ms
max_wal_size = 4GB
EOF_CONF
}

# The database of the plan's round.
sub database
{
    my ($class, $plan) = @_;
    return 'random_' . $plan->name;
}

# One round: the plan, and the comparison. Returns whether all is well.
sub round
{
    my ($class, $node, $plan) = @_;
    my $self = bless { node => $node, database => $class->database($plan), name => $plan->name, queues => [], errors => {}, frozen => undef }, $class;
    $node->safe_psql('postgres', sprintf q{ALTER SYSTEM SET pgq_ext.decoding_work_mem = '%s'; SELECT pg_reload_conf()}, $plan->decoding_work_mem);
    $self->_create_database($plan);
    $self->_run($plan->steps($sessions));
    return $self->_compare;
}

sub _create_database
{
    my ($self, $plan) = @_;
    my ($node, $database) = @$self{qw(node database)};
    $node->safe_psql('postgres', "CREATE DATABASE $database");
    # As the enqueuer does, so that values look the same.
    $node->safe_psql('postgres', "ALTER DATABASE $database SET $_")
      foreach q{timezone = 'UTC'}, q{lc_monetary = 'C'}, q{check_function_bodies = off}, q{extra_float_digits = 1};
    $node->safe_psql($database, 'CREATE EXTENSION pgq_ext');
    $node->safe_psql($database, slurp_file("$FindBin::RealBin/../random/$_.sql")) foreach @parts;
    $node->safe_psql($database, q{SELECT pgq_sync('60 s')});
    $node->safe_psql($database, $plan->setup);
    return;
}

sub _run
{
    my ($self, @steps) = @_;
    $self->_connect;
    foreach my $step (@steps)
    {
        my ($session, $script) = @$step;
        if ($session eq 'server')
        {
            $self->_disturb($script);
            next;
        }
        push @{ $self->{queues}[$session] }, $script;
        $self->_progress;
    }
    $self->_drain;
    $_->quit foreach @{ $self->{sessions} }, $self->{control};
    return;
}

sub _connect
{
    my ($self) = @_;
    my $connstr = $self->{node}->connstr($self->{database});
    $self->{sessions} = [ map { PsqlSession->new($connstr) } 0 .. $sessions ];
    $self->{control} = PsqlSession->new($connstr);
    $self->{busy} = [];
    return;
}

# Starts what can be started, and waits until each session has either ended its script or waits for a lock.
sub _progress
{
    my ($self) = @_;
    while (1)
    {
        my @running;
        foreach my $no (0 .. $sessions)
        {
            $self->_advance($no);
            push @running, $self->{sessions}[$no]->pid if $self->{busy}[$no];
        }
        last if !@running || $self->_all_wait(@running);
    }
    return;
}

# Takes notice of the end of a session's script, and starts the next.
sub _advance
{
    my ($self, $no) = @_;
    my $session = $self->{sessions}[$no];
    if ($self->{busy}[$no] && $session->is_done)
    {
        $self->{errors}{ substr $_, 0, 5 }{ substr $_, 0, 200 }++ foreach $session->errors;
        $self->{busy}[$no] = 0;
    }
    if (!$self->{busy}[$no] && @{ $self->{queues}[$no] // [] })
    {
        $session->send(shift @{ $self->{queues}[$no] });
        $self->{busy}[$no] = 1;
    }
    return;
}

sub _all_wait
{
    my ($self, @pids) = @_;
    usleep(500);
    my $waiting = $self->{control}->query(
        q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid IN (} . join(', ', @pids) . ')');
    return $waiting == @pids;
}

# Until all is done. A prepared transaction may hold a lock that its own session waits for, so they are ended as they come.
sub _drain
{
    my ($self) = @_;
    $self->_thaw;
    my $deadline = time + 2 * $PostgreSQL::Test::Utils::timeout_default;
    while (grep { $self->{busy}[$_] || @{ $self->{queues}[$_] // [] } } 0 .. $sessions)
    {
        $self->_progress;
        push @{ $self->{queues}[0] }, map { "COMMIT PREPARED '$_'" } $self->_prepared;
        die 'the sessions do not come to their end' if time > $deadline;
    }
    $self->{node}->safe_psql($self->{database}, "COMMIT PREPARED '$_'") foreach $self->_prepared;
    return;
}

sub _prepared
{
    my ($self) = @_;
    return split /\n/, $self->{control}->query('SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY gid');
}

# What happens to the enqueuer. It is frozen only when it is at rest, and so holds no lock.
sub _disturb
{
    my ($self, $what) = @_;
    my ($node, $database) = @$self{qw(node database)};
    if ($what eq 'freeze')
    {
        $self->{frozen} //= $node->freeze($database);
    }
    elsif ($what eq 'thaw')
    {
        $self->_thaw;
    }
    elsif ($what eq 'terminate')
    {
        $self->_thaw;
        $node->safe_psql($database, q{SELECT pg_terminate_backend(pid) FROM pgq_enqueuer WHERE pid IS NOT NULL});
    }
    return;
}

sub _thaw
{
    my ($self) = @_;
    $self->{node}->thaw(delete $self->{frozen}) if defined $self->{frozen};
    return;
}

sub _compare
{
    my ($self) = @_;
    my ($node, $database) = @$self{qw(node database)};
    $node->safe_psql($database, qq{SELECT pgq_sync('180 s');
        SELECT w.decode('${database}_oracle');
        SELECT w.remember_bare(), w.expect(), w.collect()});
    my $found = $node->safe_psql($database, q{
        SELECT format('%s %s: %s', what, handler, count(*)) || E'\n  ' || left(string_agg(concat_ws(' ', id, left(detail, 1000)), E'\n  '), 5000)
          FROM w.differences() GROUP BY what, handler});
    note($node->safe_psql($database, q{
        SELECT format('%s rows inserted, %s events of handlers, %s jobs, %s errors, %s changes of tables, %s jobs of rows that were changed on their way', (SELECT count(*) FROM w.inserted),
                      (SELECT count(*) FROM w.expected WHERE wanted), count(position), count(error_id), (SELECT count(DISTINCT no) FROM w.shape),
                      (SELECT count(*) FROM w.expected e JOIN w.made m USING (handler, id) WHERE form IN ('row', 'keyed') AND args <> e.row)) FROM w.made}));
    my $well = is($found, '', $self->{name});
    # Errors are part of the workload; these would mean that a statement was not what was meant.
    foreach my $state (sort keys %{ $self->{errors} })
    {
        my @texts = sort keys %{ $self->{errors}{$state} };
        note(scalar(@texts) . " x $texts[0]");
    }
    my @wrong = map { keys %{ $self->{errors}{$_} } } grep { /^(XX|42601|42883|42P02)/ } keys %{ $self->{errors} };
    return is(join("\n", @wrong), '', 'no statement is nonsense') && $well;
}

# Drops the database of a round.
sub clean_up
{
    my ($class, $node, $plan) = @_;
    my $database = $class->database($plan);
    $node->safe_psql($database, "SELECT pg_drop_replication_slot('${database}_oracle')");
    $node->safe_psql('postgres', "DROP DATABASE $database");
    return;
}

1;
