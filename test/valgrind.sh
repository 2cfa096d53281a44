# shellcheck shell=bash
# Runs the servers of the tests under valgrind's memcheck, and fails when it has found anything. Used by test/run, with
# the checked server, which tells valgrind what palloc does.

# What is run when nothing is named: the worker's functions, handlers, event errors, keys; an enqueuer's start, end, crash
# and catch-up; large rows and transactions; a mixed load with DDL. All tests would take hours.
readonly valgrind_tests=(
    callers.sql
    event_errors.sql
    event_retry.sql
    event_transactions.sql
    events.sql
    handlers.sql
    scheduled.sql
    worker_api.sql
    append_race.spec
    cancel_race.spec
    handler_border.spec
    010_lifecycle.pl
    022_lost_slot.pl
    061_crash_loop.pl
)
# A program runs some thirty times slower there.
readonly valgrind_environment=(
    PG_TEST_TIMEOUT_DEFAULT=3600
    PGCTLTIMEOUT=3600
    PGQ_CRASH_CYCLES="${PGQ_CRASH_CYCLES:-2}"
)

# Puts a script in the place of the server's program. Making a cluster is not what is tested, and takes minutes.
put_under_valgrind() {
    local bin share=$private/usr/share/postgresql/$pg_version
    bin=$(pg_bin)
    run mkdir valgrind
    run mv "$bin/postgres" "$bin/postgres.real"
    "${as_server[@]}" tee "$bin/postgres" >/dev/null <<-SCRIPT
	#!/bin/sh
	case "\$1" in
	    --boot | --single | --check | -C | -V | --version | --describe-config) exec "$bin/postgres.real" "\$@" ;;
	esac
	exec valgrind --quiet --leak-check=no --trace-children=yes --gen-suppressions=all --num-callers=30 \\
	    --error-markers=VALGRIND-BEGIN,VALGRIND-END --log-file=$private/build/valgrind/%p.log \\
	    --suppressions=$share/valgrind.supp --suppressions=$private/build/test/valgrind.supp \\
	    "$bin/postgres.real" "\$@"
	SCRIPT
    run chmod 755 "$bin/postgres"
}

# Prints what valgrind has complained about; false if anything. The same complaint of another process is no news.
valgrind_found_nothing() {
    local found
    found=$(cat "$private"/build/valgrind/*.log | sed 's/^==[0-9]*== *//' | awk '/VALGRIND-BEGIN/, /VALGRIND-END/')
    [ -n "$found" ] || return 0
    echo "$found" | head -n 200
    echo "valgrind has found $(grep -c VALGRIND-BEGIN <<<"$found") errors"
    return 1
}
