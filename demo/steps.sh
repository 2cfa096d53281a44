#!/bin/bash
# The steps of the demo. demo/run calls this with a server ready: PGHOST, PGPORT, PGUSER, PGDATABASE; PGBIN, where the
# server's programs are; WORK, a directory to write to.
#
# The application is pgbench's bank. It knows nothing of the extension, and nothing is changed in it: every row that it
# adds to pgbench_history becomes a job, four worker processes do the jobs, and at the end tables and logs are compared.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
usage='usage: make demo [DEMO_ARGS="--full-speed | --rate N | --seconds N"]'
clients=8 branches=8 workers=4 slots=8 rate=500 seconds=10
pace="$rate transactions a second in all" key=bid what=branch

children=()
trap 'kill -TERM "${children[@]}" 2>/dev/null || true; wait' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n'; printf '%s\n' "$@"; }
fail() { printf '\ndemo: %s\n' "$*" >&2; exit 1; }
sql() { "$PGBIN/psql" -XqAt -v ON_ERROR_STOP=1 "$@"; }
thousands() { sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$1"; }

read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            --full-speed) rate='' pace='at full speed' key=tid what=teller ;; # a branch's jobs, one by one, can't keep up
            --rate) rate=${2:?$usage} pace="$2 transactions a second in all"; shift ;;
            --seconds) seconds=${2:?$usage}; shift ;;
            *) echo "$usage" >&2; exit 2 ;;
        esac
        shift
    done
}

# The worker is an ordinary client program: it is compiled as one, against libpq and nothing else.
build_worker() {
    local pg_config=$PGBIN/pg_config
    "${CXX:-g++}" -std=c++17 -O2 -Wall -Wextra -I"$("$pg_config" --includedir)" -o "$WORK/worker" "$here/worker.cpp" \
        -L"$("$pg_config" --libdir)" -lpq -pthread
}

create_bank() {
    say "An application: pgbench's bank with $branches branches."
    "$PGBIN/pgbench" -i -q -s "$branches" >"$WORK/pgbench-init.log" 2>&1 || fail "$(<"$WORK/pgbench-init.log")"
}

create_handler() {
    local handler="SELECT pgq_create_handler('ledger', 'pgbench_history', serialization_key => '$key::text')"
    say "A handler: each row of its history becomes a job; jobs of one $what run one at a time, in commit order." \
        '' '  CREATE EXTENSION pgq_ext;' "  $handler;"
    sql -o "$WORK/setup.log" -c 'CREATE EXTENSION pgq_ext' -c "$handler" -c 'SELECT pgq_sync()'
}

start_workers() {
    local i
    for ((i = 1; i <= workers; i++)); do
        "$WORK/worker" --name "worker $i" --slots "$slots" --log "$WORK/worker.$i.log" &
        children+=($!)
    done
    worker_pids=("${children[@]}")
}

start_load() {
    "$PGBIN/pgbench" -n -c "$clients" -j 2 -T "$seconds" ${rate:+-R "$rate"} >"$WORK/pgbench.log" 2>&1 &
    load_pid=$!
    children+=("$load_pid")
}

# One line a second, until the load has ended and every job is done.
watch_them() {
    local second=0 events jobs live lag finished=0 before still=0 line='  %6s %10s %10s %10s %14s\n'
    # shellcheck disable=SC2059
    printf "$line" second events jobs 'done' 'lag (bytes)'
    while :; do
        sleep 1
        second=$((second + 1)) before=$finished
        IFS='|' read -r events jobs live lag <<<"$(sql -c "
            SELECT (SELECT count(*) FROM pgbench_history), count(*),
                   count(*) FILTER (WHERE status IN ('pending', 'in_progress')),
                   (SELECT lag_bytes FROM pgq_enqueuer)
              FROM pgq_jobs WHERE handler = 'ledger'")" || fail 'the server does not answer'
        finished=$((jobs - live))
        # shellcheck disable=SC2059
        printf "$line" $second "$(thousands "$events")" "$(thousands "$jobs")" "$(thousands $finished)" "$(thousands "$lag")"
        kill -0 "$load_pid" 2>/dev/null && continue
        [ "$finished" -lt "$events" ] || return 0
        if [ $finished = "$before" ]; then still=$((still + 1)); else still=0; fi
        [ $still -lt 20 ] || fail "stuck: $events events, $jobs jobs, $finished of them done"
    done
}

await_load() {
    wait "$load_pid" || fail "pgbench: $(<"$WORK/pgbench.log")"
}

stop_workers() {
    local pid
    kill -TERM "${worker_pids[@]}"
    for pid in "${worker_pids[@]}"; do
        wait "$pid" || fail 'a worker ended with an error'
    done
    children=()
}

# Fills result: the name=value pairs that checks.sql gives.
declare -A result=()
measure() {
    local name value
    sql -c 'CREATE TABLE demo_log (worker text, job_id bigint, attempt int, key text, outcome text,
                                   started double precision, ended double precision, args jsonb)'
    cat "$WORK"/worker.*.log | sql -c 'COPY demo_log FROM STDIN'
    sql -f "$here/checks.sql" -o "$WORK/result"
    while IFS='=' read -r name value; do
        result[$name]=$value
    done < <(tr '|' '\n' <"$WORK/result")
}

report() {
    count() { printf '  %-24s %10s%s%s\n' "$1" "$(thousands "${result[$2]}")" "${3:+   $3}" "${4:+   $4}"; }
    count 'events committed' events
    count 'jobs made of them' jobs "lost ${result[job_lost]}" "doubled ${result[job_more]}"
    count 'jobs done' 'done' "lost ${result[done_lost]}" "doubled ${result[done_more]}"
    count 'order violations' violations "in ${result[keys]} keys" "$(thousands "${result[waited]}") jobs waited for an earlier one"
    count 'jobs a second' rate
    latency 'commit to job visible' seen p50 3
    latency '' seen p99 30
    latency "commit to worker's hands" hands p50
    latency '' hands p99
}

latency() { # TITLE NAME PERCENTILE [TARGET]
    local ms=${result[$2_$3]} verdict=
    [ $# -lt 4 ] || verdict=$(awk -v ms="$ms" -v target="$4" 'BEGIN {
        printf "target %d ms%s", target, ms < target ? "" : ": missed on this machine" }')
    printf '  %-24s %7s ms   %s%s\n' "$1" "$ms" "$3" "${verdict:+      $verdict}"
}

# What must hold on any machine; a slow one only changes the times.
judge() {
    local faults=()
    must_be_zero() { [ "${result[$1]}" = 0 ] || faults+=("${result[$1]} $2"); }
    [ "${result[events]}" -gt 0 ] || faults+=('pgbench committed nothing')
    must_be_zero errors 'event errors'
    must_be_zero job_lost 'events without a job'
    must_be_zero job_more 'jobs without an event'
    must_be_zero done_lost 'events that no worker completed'
    must_be_zero done_more 'completions without an event of their own'
    must_be_zero unfinished 'jobs that are not completed'
    must_be_zero untimed 'runs whose event or commit time is unknown'
    must_be_zero violations 'order violations'
    must_be_zero broken 'rows of pgq_check'
    [ ${#faults[@]} = 0 ] || fail "FAILED:$(printf '\n  %s' "${faults[@]}")"
    say "Every committed row became one job, done once, in commit order within its $what."
}

read_options "$@"
build_worker
create_bank
create_handler
say "The load: $clients clients, $pace, for $seconds seconds." \
    "The work: $workers worker processes, each $slots jobs at a time." ''
start_workers
start_load
watch_them
await_load
stop_workers
say "The result, from the two tables and the workers' own logs:" ''
measure
report
judge
