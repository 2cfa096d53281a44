# One claim of a deep queue against one of a shallow queue: buffers and time. Ten claims in a row in a warm session; their
# jobs are completed and replaced, so both queues keep their depth.
use strict;
use warnings;
use Bench::Results;
use Bench::Server;
use Bench::Subject;
use JSON::PP qw(decode_json);

my %depths = (deep => Bench::Results::scaled(1_000_000), shallow => 1000);
my %subjects = map { $_ => Bench::Subject->new(Bench::Server->start($_, extension => 1), 'pgq') } keys %depths;
my $results = Bench::Results->new('depth', 10);
my $claims = 10;
my $key = 'gen_random_uuid()'; # never the key of another job

$subjects{$_}->setup->fill($depths{$_}, $key) foreach keys %depths;

# Claims and completes; the first claim of a session fills its caches and isn't taken.
sub session
{
    my ($batch) = @_;
    my $claim = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) INSERT INTO claimed SELECT job_id, attempt FROM pgq_dequeue($batch);\n";
    my $complete = "SELECT count(*) FROM claimed, pgq_complete(claimed.job_id, claimed.attempt);\nDELETE FROM claimed;\n";
    return "CREATE TEMP TABLE claimed (job_id bigint, attempt int);\n" . ($claim . $complete) x ($claims + 1);
}

sub measure
{
    my ($name, $batch) = @_;
    return sub {
        my $subject = $subjects{$name};
        my $file = "$ENV{TMPDIR}/session.sql";
        open my $out, '>', $file or die "$file: $!";
        print {$out} session($batch);
        close $out or die "$file: $!";
        my @plans = $subject->server->file($file) =~ /^(\[.*?^\])/msg;
        my @scans = map { decode_json($_)->[0]{Plan}{Plans}[0] } @plans[ 1 .. $claims ];
        $results->sample("claim of $batch: buffers", $name, 'buffers',
            Bench::Results::median(map { $_->{'Shared Hit Blocks'} + $_->{'Shared Read Blocks'} } @scans));
        $results->sample("claim of $batch: time", $name, 'ms', Bench::Results::median(map { $_->{'Actual Total Time'} } @scans));
        $subject->fill($batch * ($claims + 1), $key);
    };
}

$results->rounds(map { my $batch = $_; map { measure($_, $batch) } 'deep', 'shallow' } 1, 50);
foreach my $batch (1, 50)
{
    $results->check_ratio("claim of $batch: $_, 1,000,000 against 1,000 pending", "claim of $batch: $_/deep", "claim of $batch: $_/shallow",
        'at most', 1.2)
      foreach 'buffers', 'time';
}
$results->finish;
$_->server->stop foreach values %subjects;
