# Producers: pgbench against a server.
package Bench::Writers;

use strict;
use warnings;
use Bench::Server;

# One event a transaction, with a key of its own. It is made of what pgbench's log knows the transaction by.
my $script = <<'EOF_SCRIPT';
\set n :n + 1
INSERT INTO ev (k) VALUES (:client_id || '-' || :n);
EOF_SCRIPT

# The command line of 8 clients that insert events, with more options for pgbench.
sub command
{
    my (@options) = @_;
    my $file = ($ENV{TMPDIR} // '/tmp') . '/insert.sql';
    open my $out, '>', $file or die "$file: $!";
    print {$out} $script;
    close $out or die "$file: $!";
    return ('pgbench', '-n', '-M', 'prepared', '-c', 8, '-j', 2, '-D', 'n=0', '-f', $file, @options);
}

# Runs pgbench and returns the transactions a second.
sub rate
{
    my ($server, @command) = @_;
    return rate_in($server->client(@command));
}

sub rate_in
{
    my ($output) = @_;
    return $output =~ /^tps = ([\d.]+)/m ? $1 : die "no rate in what pgbench says: $output";
}

1;
