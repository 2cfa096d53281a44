# How many instructions of the processor one job takes, and in what: counted by valgrind's callgrind, so the same on any
# day, however busy the machine is. Batches of 50, one client. What functions they call is included.
use strict;
use warnings;
use List::Util qw(max min);
use Bench::Results;
use Bench::Server;
use Bench::Subject;

my $jobs = Bench::Results::scaled(20_000);
my $results = Bench::Results->new('instructions', 1);
my $base = $ENV{TMPDIR} // '/tmp';

# What is looked for: as callgrind names it, and as the table does.
my @of_worker = (
    [ qr/^pgq_ext_dequeue$/, 'pgq_dequeue' ],
    [ qr/^pgq_ext::pg::UpdateNoWait\(/, '... writing the claimed job' ],
    [ qr/^pgq_ext_complete_all$/, 'pgq_complete' ],
    [ qr/^pgq_ext::pg::Lookup::Find\(/, '... finding the job' ],
    [ qr/^pgq_ext::queue::MoveToArchive\(/, '... deleting it' ],
    [ qr/^pgq_ext::pg::InsertRows\(/, '... inserting it into the archive' ],
    [ qr/^pgq_ext::queue::FindNext\(/, '... finding the next job of its key' ],
    [ qr/^pgq_ext::queue::PromoteNextIn\(/, '... that, and promoting it' ]);
my @of_enqueuer = (
    [ qr/^XLogReadRecord$/, 'reading WAL' ],
    [ qr/^LogicalDecodingProcessRecord$/, 'decoding it' ],
    [ qr/^pgq_ext::queue::Evaluate(OrRaise|Guarded)\(/, 'evaluating the handler' ],
    [ qr/^pgq_ext::queue::Append\(/, 'place in its key, forming the row' ],
    [ qr/^pgq_ext::pg::InsertRows\(/, 'inserting the row (partly from there)' ]);

# A program that runs the server under callgrind, every process of it with a file of its own.
sub program
{
    my ($directory) = @_;
    my $bin = Bench::Server::execute('pg_config', '--bindir');
    my $program = "$directory/postgres";
    open my $out, '>', $program or die "$program: $!";
    print {$out} <<"EOF_PROGRAM";
#!/bin/sh
exec valgrind --quiet --tool=callgrind --trace-children=yes --callgrind-out-file=$directory/%p.out $bin/postgres "\$@"
EOF_PROGRAM
    close $out or die "$program: $!";
    chmod 0755, $program or die "$program: $!";
    return $program;
}

# The instructions of a process; what it did as the postmaster, before it was forked from that, is among them.
sub total_of
{
    my ($file) = @_;
    return (split / /, Bench::Server::execute('grep', '^totals:', $file))[1];
}

# The instructions of each function of a process, those that it calls included.
sub read_profile
{
    my ($file) = @_;
    my %instructions;
    foreach my $line (split /\n/, Bench::Server::execute('callgrind_annotate', '--inclusive=yes', '--threshold=100', '--auto=no', $file))
    {
        my ($count, $function) = $line =~ /^\s*([\d,]+) \([^)]*\)\s+(.+?)(?: \[[^]]*\])?$/ or next;
        $count =~ tr/,//d;
        $function =~ s/^[^:]*:(?!:)//;
        $instructions{$function} //= $count;
    }
    return \%instructions;
}

# Samples of the process that has called all these functions.
sub report
{
    my ($scenario, $files, @functions) = @_;
    my $before = min(map { total_of($_) } @$files);
    foreach my $file (@$files)
    {
        my $profile = read_profile($file);
        my @counts = map { my $pattern = $_->[0]; max(0, map { $profile->{$_} } grep { /$pattern/ } keys %$profile) } @functions;
        next if grep { $_ == 0 } @counts;
        $results->sample($scenario, 'all', 'instructions/job', (total_of($file) - $before) / $jobs);
        $results->sample($scenario, $functions[$_][1], 'instructions/job', $counts[$_] / $jobs) foreach 0 .. $#functions;
        return;
    }
    die "no process has done the work of $scenario\n";
}

sub measure
{
    my ($scenario, $key) = @_;
    my $directory = "$base/callgrind";
    mkdir $directory or die "$directory: $!";
    local $ENV{PGCTLTIMEOUT} = 600;
    my $server = Bench::Server->start('with', extension => 1, program => program($directory), conf => "autovacuum = off\npgq_ext.expression_timeout = 0\n");
    Bench::Subject->new($server, 'pgq')->setup->fill($jobs, $key)->work(jobs => $jobs, clients => 1, batch => 50, seconds => 3600);
    $server->stop;
    my @files = split /\n/, Bench::Server::execute('grep', '-l', '^totals:', glob "$directory/*.out"); # the postmaster may be writing its own
    report("$scenario: a worker's backend", \@files, @of_worker);
    report("$scenario: the enqueuer", \@files, @of_enqueuer);
    Bench::Server::execute('rm', '-r', $directory, $server->{data});
    return;
}

measure('distinct keys', q{'k' || i});
measure('1,000 keys', q{'k' || i % 1000});
$results->finish;
