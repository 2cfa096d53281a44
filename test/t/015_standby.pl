# A standby runs nothing, says so, and has enqueuers from its promotion on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $primary = PgqNode->create('primary');
$primary->safe_psql('postgres', 'CREATE EXTENSION pgq_ext');
$primary->create_events('postgres');
$primary->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('first')});
is($primary->events_and_jobs('postgres'), '1|1|1', 'the primary converts');

$primary->backup('base');
my $standby = PgqNode->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);

$standby->processes_are('', 'a standby runs nothing of ours');
is($standby->safe_psql('postgres', 'SELECT state, pid, lag_bytes >= 0 FROM pgq_enqueuer'), 'standby||t',
    'the view works there');
my ($sqlstate) = $standby->error_of('postgres', 'SELECT pgq_sync()');
is($sqlstate, '25006', 'pgq_sync does not');

$primary->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('second')});
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
$standby->safe_psql('postgres', q{INSERT INTO ev(k) VALUES ('third')});
is($standby->events_and_jobs('postgres'), '3|3|3', 'after promotion all events have become jobs');
$standby->processes_are('pgq_ext enqueuer postgres, pgq_ext launcher', 'and the enqueuer runs');

$standby->log_is_clean;
PgqNode::done();
