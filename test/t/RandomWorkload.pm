# The plan of a random workload: sources, handlers, and what some sessions do, statement by statement, in one order. The same
# seed gives the same plan. What a statement says in detail is the matter of test/random/*.sql. RandomRun runs it.
package RandomWorkload;

use strict;
use warnings;
use Digest::MD5 qw(md5);

my @sources = qw(plain bare range list hash tree child plain);
my @handler_forms = qw(row keyed picked column);
my @changes = (
    ('add constant', 'add volatile', 'add', 'rename', 'rename', 'retype', 'drop') x 2, 'retype', 'drop', 'rename table', 'storage', 'trigger',
    'detach', 'attach', 'attach', 'drop partition', 'drop table');

# By how often they come.
my @statements = (
    (qw(insert)) x 6, (qw(insert_select)) x 2, (qw(copy)) x 3, (qw(nothing update)) x 2, (qw(merge)) x 2, (qw(modify)) x 4,
    (qw(both)) x 2, (qw(subtransactions)) x 2, (qw(change)) x 3, (qw(around)) x 3, (qw(work enqueue settings)));

# transactions: of each session.
sub new
{
    my ($class, $seed, $transactions) = @_;
    return bless { seed => $seed, transactions => $transactions, drawn => 0, prepared => 0, handlers => 0 }, $class;
}

sub name
{
    my ($self) = @_;
    return "seed_$self->{seed}";
}

# With little memory nearly every transaction is streamed while it runs.
sub decoding_work_mem
{
    my ($self) = @_;
    return $self->{seed} % 2 ? '64kB' : '4MB';
}

# A number from 0 to n - 1. Perl's own generator is used by others, too.
sub _below
{
    my ($self, $n) = @_;
    return unpack('N', md5("$self->{seed} " . $self->{drawn}++)) % $n;
}

sub _pick
{
    my ($self, @list) = @_;
    return $list[ $self->_below(scalar @list) ];
}

# The number of a source.
sub _source
{
    my ($self) = @_;
    return $self->_below(scalar @sources);
}

# The script that makes sources and their first handlers.
sub setup
{
    my ($self) = @_;
    my $sql = '';
    foreach my $no (0 .. $#sources)
    {
        my ($types, $seed) = (3 + $self->_below(6), $self->_below(1000));
        $sql .= "SELECT w.create_source($no, '$sources[$no]', (SELECT array_agg(type) FROM (SELECT type FROM w.specimen"
          . " ORDER BY w.hash($seed, type) LIMIT $types) t), $seed, 0);\n";
    }
    # The handlers' definitions are in the stream, so the test's slot must be there before.
    $sql .= "SELECT count(*) FROM pg_create_logical_replication_slot(current_database() || '_oracle', 'test_decoding');\n";
    foreach my $no (0 .. $#sources)
    {
        $sql .= $self->_create_handler("w.s$no", 'row');
        $sql .= $self->_create_handler("w.s$no", $self->_pick(@handler_forms));
        $sql .= $self->_create_handler('w.s' . $no . '_p' . $self->_below(3), $self->_pick(@handler_forms))
          if $sources[$no] =~ /range|list|hash|tree/;
    }
    return $sql;
}

sub _create_handler
{
    my ($self, $source, $form) = @_;
    return sprintf "SELECT w.create_handler('h%d %s', '%s', '%s');\n", ++$self->{handlers}, $form, $source, $form;
}

# What happens: a list of [session, script]. Session 0 only ends prepared transactions; 'server' is what is done to the
# enqueuer and the server. All other sessions end with no transaction open.
sub steps
{
    my ($self, $sessions) = @_;
    my @queues = map { [ map { $self->_transaction } 1 .. $self->{transactions} ] } 1 .. $sessions;
    my @steps;
    while (my @open = grep { @{ $queues[$_] } } 0 .. $#queues)
    {
        my $session = $self->_pick(@open);
        my $step = shift @{ $queues[$session] };
        push @steps, ref $step ? $step : [ $session + 1, $step ];
    }
    return @steps;
}

sub _transaction
{
    my ($self) = @_;
    my $kind = $self->_below(20);
    return [ 'server', $self->_pick(qw(freeze freeze thaw terminate)) ] if $kind == 0;
    return $self->_alone if $kind <= 2;
    return $self->_statement if $kind <= 8;
    my @end = $kind <= 15 ? 'COMMIT' : $kind <= 17 ? 'ROLLBACK' : $self->_prepare;
    return ('BEGIN', $self->_block(0), @end);
}

sub _prepare
{
    my ($self) = @_;
    my $gid = 'g' . ++$self->{prepared};
    return ("PREPARE TRANSACTION '$gid'", [ 0, $self->_pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$gid'" ]);
}

# Statements, some of them within savepoints.
sub _block
{
    my ($self, $depth) = @_;
    my @block;
    foreach my $i (1 .. 1 + $self->_below(4))
    {
        if ($depth < 3 && $self->_below(4) == 0)
        {
            my $name = "s$depth";
            push @block, "SAVEPOINT $name", $self->_block($depth + 1), $self->_pick('RELEASE', 'ROLLBACK TO') . " $name";
        }
        else
        {
            push @block, $self->_statement;
        }
    }
    return @block;
}

# What can't be part of a transaction, or is one by itself.
sub _alone
{
    my ($self) = @_;
    my ($no, $seed) = ($self->_source, $self->_below(100000));
    return $self->_pick(
        "SELECT 'VACUUM FULL ' || t FROM w.name($no) t \\gexec",
        "SELECT 'VACUUM ' || t FROM w.name($no) t \\gexec",
        "SELECT format('CLUSTER %s USING %I', indrelid::regclass, relname) FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = w.name($no)::regclass \\gexec",
        # Everybody would wait behind it, also those who look at what waits.
        "SET lock_timeout = '10ms';\nVACUUM FULL pg_attribute;\nSET lock_timeout = 0", 'VACUUM FULL pgq_job', 'CHECKPOINT',
        "SELECT w.create_handler('h" . ++$self->{handlers} . "', w.name($no)::regclass, '" . $self->_pick(@handler_forms) . "')",
        "SELECT w.drop_handler((SELECT handler FROM pgq_handlers ORDER BY w.hash($seed, handler) LIMIT 1))",
        "BEGIN;\nSELECT w.modify($no, $seed, 'truncate') \\gexec\nSELECT * FROM w.copy($no, $seed, 10, 'FORMAT text, FREEZE') \\gexec\nCOMMIT",
        "BEGIN;\nSELECT w.subtransactions($no, $seed, 70);\nCOMMIT");
}

sub _statement
{
    my ($self) = @_;
    my ($no, $other, $seed, $n) = ($self->_source, $self->_source, $self->_below(100000), 1 + $self->_below(5));
    my $kind = $self->_pick(@statements);
    return "SELECT w.insert($no, $seed, $n) \\gexec" if $kind eq 'insert';
    return "SELECT w.insert_select($no, $seed, " . $n * $n . ') \\gexec' if $kind eq 'insert_select';
    return "SELECT * FROM w.copy($no, $seed, " . $n * $n * $n . ", 'FORMAT " . $self->_pick(qw(text binary csv)) . "') \\gexec" if $kind eq 'copy';
    return "SELECT w.on_conflict($no, $seed, '\U$kind\E') \\gexec" if $kind eq 'nothing' || $kind eq 'update';
    return "SELECT w.merge($no, $seed) \\gexec" if $kind eq 'merge';
    return "SELECT w.modify($no, $seed, '" . $self->_pick(qw(update update move move delete truncate)) . "') \\gexec" if $kind eq 'modify';
    return "SELECT w.insert_both($no, $other, $seed) \\gexec" if $kind eq 'both';
    return "SELECT w.subtransactions($no, $seed, " . 2 * $n . ')' if $kind eq 'subtransactions';
    return "SELECT w.change($no, $seed, '" . $self->_pick(@changes) . "')" if $kind eq 'change';
    # In a transaction, rows of both shapes are on their way together.
    return "SELECT w.insert($no, $seed, $n) \\gexec\nSELECT w.change($no, $seed, '" . $self->_pick(@changes) . "');\n"
      . "SELECT w.insert($no, $seed + $n, $n) \\gexec" if $kind eq 'around';
    return "SELECT count(pgq_complete(job_id, attempt)) FROM pgq_dequeue($n)" if $kind eq 'work';
    return "WITH d AS (INSERT INTO w.direct VALUES (nextval('w.ids')) RETURNING id) SELECT pgq_enqueue('direct', jsonb_build_object('id', id)) FROM d" if $kind eq 'enqueue';
    return 'SET ' . $self->_pick('session_replication_role = replica', 'session_replication_role = origin', 'synchronous_commit = off', 'synchronous_commit = on');
}

1;
