# A standby is promoted under load while the primary dies: on the new primary nothing that was replicated is lost, nothing
# is doubled, and keys are in order. It has no slot, and its WAL goes across a switch of timelines.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqLoad;

my $primary = PgqLoad->create('primary');
$primary->create_load;
$primary->backup('base');

sub make_standby
{
    my ($name) = @_;
    my $standby = PgqLoad->new($name);
    $standby->init_from_backup($primary, 'base', has_streaming => 1);
    $standby->append_conf('postgresql.conf', "wal_keep_size = '1GB'");
    $standby->start;
    return $standby;
}

# What the server says from its promotion on.
sub promote
{
    my ($standby) = @_;
    my $offset = -s $standby->logfile;
    $standby->promote;
    $standby->wait_for_log(qr/WARNING:  the replication slot of the enqueuer was lost/, $offset);
    return;
}

my $standby = make_standby('standby');
my $second = make_standby('second');
$primary->start_load;
$primary->is_exact('on the primary');
$primary->wait_for_catchup($standby);
$standby->processes_are('', 'a standby runs nothing of ours');

# The second one is left behind: who has received more than the one that is promoted could not follow it.
$second->stop;

# The server dies in the middle of everything: what its enqueuer had not recorded by then is the gap.
$primary->safe_psql('postgres', q{SELECT insert_events(100); CHECKPOINT; SELECT pg_switch_wal()});
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$primary->stop_clients;

# Clients go on with the new primary from the moment in which it is one.
$standby->start_load;
promote($standby);
my $report = $standby->is_exact('after promotion, with the load going on');
$standby->processes_are('pgq_ext enqueuer postgres, pgq_ext launcher', 'the enqueuer has started by itself');

# The next one in line was a standby of the old primary. It follows the new one, and is promoted in turn: the recorded
# position may lie on either timeline.
$second->enable_streaming($standby);
$second->start;
$standby->wait_for_catchup($second);
$standby->safe_psql('postgres', 'SELECT insert_events(100)');
$standby->wait_for_catchup($second);
$standby->stop('immediate');
$standby->stop_clients;
$second->start_load;
promote($second);
$second->is_exact('after a second promotion');
$second->stop_load;
$report = $second->is_exact('at the end');
$second->drain;
$second->is_exact('when all is done');
unlike(slurp_file($_->logfile), qr/could not be recovered/, 'nothing was given up') foreach $standby, $second;
$_->log_has_no_panic foreach $standby, $second;

diag("promotions under load: events $report->{events}, lost $report->{lost}, doubled $report->{doubled}, "
      . "not of any event $report->{unwanted}, order violations $report->{disordered}");
PgqNode::done();
