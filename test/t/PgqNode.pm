# A server with the extension's settings, and what the tests of the processes ask of it.
package PgqNode;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @ISA = ('PostgreSQL::Test::Cluster');

my @nodes;

sub new
{
    my ($class, @params) = @_;
    my $node = PostgreSQL::Test::Cluster::new($class, @params);
    push @nodes, $node;
    return $node;
}

# A started server. conf: lines for postgresql.conf that come after ours. params: as for new.
sub create
{
    my ($class, $name, $conf, %params) = @_;
    my $node = $class->new($name, %params);
    $node->init(allows_streaming => 'logical');
    $node->append_conf('postgresql.conf', <<"EOF");
shared_preload_libraries = 'pgq_ext'
max_prepared_transactions = 10
max_worker_processes = 16
restart_after_crash = on
EOF
    $node->append_conf('postgresql.conf', $conf) if defined $conf;
    $node->start;
    return $node;
}

# Waits until the database's enqueuer converts, and returns its pid. With old: until it is another one than that.
sub enqueuer
{
    my ($self, $database, $old) = @_;
    my $running = q{state = 'streaming' AND pid IS NOT NULL};
    $running .= " AND pid <> $old" if defined $old;
    $self->poll_query_until($database, "SELECT $running FROM pgq_enqueuer") or die "no enqueuer in $database";
    return $self->safe_psql($database, 'SELECT pid FROM pgq_enqueuer');
}

# Gives the database a table ev and a handler for it.
sub create_events
{
    my ($self, $database) = @_;
    return $self->safe_psql($database,
        q{CREATE TABLE ev(id serial, k text); SELECT pgq_create_handler('ev', 'ev', serialization_key => 'k')});
}

# Waits for all commits so far, and returns how many events there are and how many jobs they have become.
sub events_and_jobs
{
    my ($self, $database) = @_;
    $self->safe_psql($database, q{SELECT pgq_sync('60 s')});
    return $self->safe_psql($database, q{SELECT (SELECT count(*) FROM ev), count(*), count(DISTINCT args) FROM pgq_jobs});
}

# Waits until our processes are these, 'type database, ...', and tests that they come to be. After a start the launcher looks
# into each database by a process that does not stay.
sub processes_are
{
    my ($self, $expected, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok($self->poll_query_until('postgres',
        q{SELECT coalesce(string_agg(concat_ws(' ', backend_type, datname), ', ' ORDER BY backend_type, datname), '')
            FROM pg_stat_activity WHERE backend_type LIKE 'pgq\_ext %'}, $expected), $name);
}

# Waits until the enqueuers that run are those of these databases.
sub await_enqueuers
{
    my ($self, @databases) = @_;
    return $self->poll_query_until('postgres',
        q{SELECT coalesce(string_agg(datname, ' ' ORDER BY datname), '')
            FROM pg_stat_activity WHERE backend_type = 'pgq_ext enqueuer'}, join ' ', sort @databases);
}

# The names of the databases that have a replication slot.
sub slots
{
    my ($self) = @_;
    return $self->safe_psql('postgres',
        q{SELECT coalesce(string_agg(database, ' ' ORDER BY database), '') FROM pg_replication_slots});
}

# Runs a command that must fail. Returns its SQLSTATE and everything that was said.
sub error_of
{
    my ($self, $database, $sql) = @_;
    my ($code, $out, $err) = $self->psql($database, $sql, extra_params => ['--set', 'VERBOSITY=verbose']);
    return $err =~ /ERROR:  (\w{5}):/ ? ($1, $err) : ('none', $err);
}

# No database that has the extension breaks its rules, whatever goes on there.
sub keeps_the_rules
{
    my ($self) = @_;
    my $databases = $self->safe_psql('postgres', 'SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname');
    foreach my $database (split /\n/, $databases)
    {
        my $schema = $self->safe_psql($database,
            q{SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pgq_ext'});
        next if $schema eq '';
        is($self->safe_psql($database, "SELECT * FROM $schema.pgq_check()"), '',
            "pgq_check finds nothing in $database of " . $self->name);
    }
    return;
}

# Who stops a server in peace looks at it once more.
sub stop
{
    my ($self, $mode, %params) = @_;
    $self->keeps_the_rules if defined $self->{_pid} && ($mode // 'fast') ne 'immediate';
    return $self->SUPER::stop($mode, %params);
}

# The end of every test that has a server.
sub done
{
    $_->stop foreach grep { defined $_->{_pid} } @nodes;
    done_testing();
    return;
}

# To be called before the end: nothing of ours, and nothing of the server's, has crashed.
sub log_is_clean
{
    my ($self) = @_;
    my @bad = grep { /PANIC|terminated by signal|TRAP:|crash of another/ } split /\n/, slurp_file($self->logfile);
    return is("@bad", '', 'no crash in the server log of ' . $self->name);
}

1;
