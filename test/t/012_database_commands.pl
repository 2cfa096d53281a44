# Commands that need a database for themselves work while its enqueuer is live, and it is back afterwards.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use PgqNode;

my $node = PgqNode->create('database_commands');

# A database with a live enqueuer.
sub create_live
{
    my ($name) = @_;
    $node->safe_psql('postgres', "CREATE DATABASE $name");
    $node->safe_psql($name, 'CREATE EXTENSION pgq_ext');
    $node->create_events($name);
    $node->safe_psql($name, q{INSERT INTO ev(k) VALUES ('first')});
    is($node->events_and_jobs($name), '1|1|1', "$name converts");
    return $node->enqueuer($name);
}

create_live($_) foreach ('plain', 'forced');

# Its enqueuer may be in the middle of something long: waiting for its slot, or running an expression.
my $writing = $node->background_psql('postgres');
$writing->query_safe('BEGIN; SELECT pg_current_xact_id()');
$node->safe_psql('postgres', 'CREATE DATABASE waiting');
$node->safe_psql('waiting', 'CREATE EXTENSION pgq_ext');
$node->poll_query_until('waiting', q{SELECT state = 'creating slot' FROM pgq_enqueuer});
$node->safe_psql('postgres', 'DROP DATABASE waiting');
$writing->quit;
create_live('evaluating');
$node->safe_psql('evaluating',
    q{SELECT pgq_create_handler('slow', 'ev', filter => 'pg_sleep(100) IS NOT NULL'); INSERT INTO ev(k) VALUES ('x')});
$node->poll_query_until('postgres', q{SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE datname = 'evaluating'});
$node->safe_psql('postgres', 'DROP DATABASE evaluating');
$node->safe_psql('postgres', 'DROP DATABASE plain');
$node->safe_psql('postgres', 'DROP DATABASE forced WITH (FORCE)');
$node->await_enqueuers();
is($node->slots, '', 'DROP DATABASE, plain and with FORCE');

# A failing command: the enqueuer comes back. The session in the way is that of the test.
my $pid = create_live('busy');
my $session = $node->background_psql('busy');
$session->query_safe('SELECT 1');
my ($sqlstate) = $node->error_of('postgres', 'DROP DATABASE busy');
is($sqlstate, '55006', 'DROP DATABASE fails when somebody else is connected');
$node->enqueuer('busy', $pid);
$node->safe_psql('busy', 'SELECT pgq_sync()');
$session->quit;
$pid = $node->enqueuer('busy');
($sqlstate) = $node->error_of('postgres', 'BEGIN; DROP DATABASE busy');
is($sqlstate, '25001', 'DROP DATABASE is refused in a transaction block');
is($node->enqueuer('busy'), $pid, 'and the enqueuer stays');

# Nobody who may not do it can use it to stop an enqueuer.
$node->safe_psql('postgres', 'CREATE ROLE somebody');
foreach my $command ('DROP DATABASE busy', 'ALTER DATABASE busy RENAME TO other', 'CREATE DATABASE copy TEMPLATE busy',
    'ALTER DATABASE busy SET TABLESPACE pg_default')
{
    ($sqlstate) = $node->error_of('postgres', "SET ROLE somebody; $command");
    is($sqlstate, '42501', "without the right to it: $command");
}
is($node->enqueuer('busy'), $pid, 'the enqueuer stays');

$node->safe_psql('postgres', 'ALTER DATABASE busy RENAME TO renamed');
$node->safe_psql('renamed', q{INSERT INTO ev(k) VALUES ('second')});
is($node->events_and_jobs('renamed'), '2|2|2', 'ALTER DATABASE RENAME');

# The lock of a renaming that isn't committed keeps the enqueuer out.
my $renaming = $node->background_psql('postgres');
$renaming->query_safe('BEGIN; ALTER DATABASE renamed RENAME TO renamed_twice');
$node->await_enqueuers();
$renaming->query_safe('ROLLBACK');
$renaming->quit;
$node->safe_psql('renamed', 'SELECT pgq_sync()');
pass('the enqueuer is back when a renaming is rolled back');

my $directory = PostgreSQL::Test::Utils::tempdir_short();
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$directory'");
$node->safe_psql('postgres', 'ALTER DATABASE renamed SET TABLESPACE elsewhere');
$node->safe_psql('renamed', 'SELECT pgq_sync()');
$node->safe_psql('postgres', 'ALTER DATABASE renamed SET TABLESPACE pg_default');
$node->safe_psql('renamed', q{INSERT INTO ev(k) VALUES ('third')});
is($node->events_and_jobs('renamed'), '3|3|3', 'ALTER DATABASE SET TABLESPACE');

# The copy has the extension, so it gets an enqueuer of its own, without being asked for it.
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE renamed');
foreach my $database ('renamed', 'copy')
{
    $node->safe_psql($database, q{INSERT INTO ev(k) VALUES ('fourth')});
    is($node->events_and_jobs($database), '4|4|4', "CREATE DATABASE TEMPLATE: $database converts");
}
$node->await_enqueuers('copy', 'renamed');
is($node->slots, 'copy renamed', 'each has its slot');

# No enqueuer in databases that are templates or closed; opened again they have one.
$node->safe_psql('postgres', 'ALTER DATABASE copy IS_TEMPLATE true');
$node->await_enqueuers('renamed');
($sqlstate, my $message) = $node->error_of('copy', 'SELECT pgq_sync()');
is($sqlstate, '55000', 'pgq_sync in a template');
like($message, qr/HINT:.*IS_TEMPLATE/, 'its hint');
$node->safe_psql('postgres', 'ALTER DATABASE copy IS_TEMPLATE false');
$node->safe_psql('copy', 'SELECT pgq_sync()');
$node->safe_psql('postgres', 'ALTER DATABASE copy ALLOW_CONNECTIONS false');
$node->await_enqueuers('renamed');
$node->safe_psql('postgres', 'ALTER DATABASE copy ALLOW_CONNECTIONS true');
$node->safe_psql('copy', q{INSERT INTO ev(k) VALUES ('fifth')});
is($node->events_and_jobs('copy'), '5|5|5', 'templates and closed databases');

$node->safe_psql('postgres', "DROP DATABASE $_") foreach ('copy', 'renamed');
$node->await_enqueuers();
is($node->slots, '', 'nothing is left');
$node->log_is_clean;
PgqNode::done();
