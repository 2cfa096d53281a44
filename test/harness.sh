# shellcheck shell=bash
# What test/run and demo/run have in common: the Debian packages, a private copy of the server with the extension
# in it, an unprivileged user to run it as, and an end that leaves nothing behind.

readonly pg_version=15
readonly packages=(
    g++
    libipc-run-perl
    libpq-dev
    make
    "postgresql-$pg_version"
    "postgresql-$pg_version-pgtap"
    "postgresql-server-dev-$pg_version"
    spin
)

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly source_dir

# The server's package creates and starts a cluster; this file, there while we install it, forbids that.
readonly no_main_cluster=/etc/postgresql-common/createcluster.d/pgq_ext-no-main-cluster.conf

private=     # the temporary directory that holds everything
as_server=() # the first words of a command that is to run as the server's user
server_root= # below it lies the server that is copied: nothing, or the directory of one like Debian's
build_options=() # variables for the make that builds the extension
logs=()      # what is kept of a failed run: names below the private copy of the sources

fail() {
    echo "$0: $*" >&2
    exit 1
}

# --- packages -------------------------------------------------------------------------------------------------------

# Installs as root what is missing; tells anybody else how to.
require_packages() {
    local package missing=()
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "Debian packages are missing: ${missing[*]}"
        echo "Run this as root to install them: $source_dir/test/run packages"
        exit 1
    fi
    echo "Installing Debian packages: ${missing[*]}"
    install_packages "${missing[@]}"
}

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
    local apt=(env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -y -qq -o DPkg::Lock::Timeout=600)
    forbid_main_cluster
    # A source that can't be read now need not be one of those we need: the installation will tell.
    "${apt[@]}" update || true
    "${apt[@]}" install --no-install-recommends "$@" >/dev/null || fail "could not install: $*"
    allow_main_cluster
}

forbid_main_cluster() {
    mkdir -p "${no_main_cluster%/*}"
    echo "create_main_cluster = false" >"$no_main_cluster"
}

allow_main_cluster() {
    [ -e "$no_main_cluster" ] || return 0
    rm "$no_main_cluster"
    rmdir -p --ignore-fail-on-non-empty "${no_main_cluster%/*}"
}

# --- the private directory and who works in it ----------------------------------------------------------------------

# A server refuses to run as root.
choose_server_user() {
    local user=nobody
    [ "$(id -u)" -eq 0 ] || return 0
    if id postgres >/dev/null 2>&1; then
        user=postgres
    fi
    as_server=(setpriv --reuid="$(id -u "$user")" --regid="$(id -g "$user")" --clear-groups)
}

make_private_dir() {
    local base
    for base in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
        private=$(mktemp -d "$(realpath "$base")/pgq_ext.XXXXXX") || continue
        chown "$("${as_server[@]}" id -u):$("${as_server[@]}" id -g)" "$private"
        if is_usable "$private"; then
            "${as_server[@]}" mkdir "$private/home" "$private/tmp" "$private/build"
            return
        fi
        rm -rf "$private"
    done
    private=
    fail "found no directory for temporary files that the server's user can use"
}

# The path of a socket below must fit into 107 bytes, make knows no quoting, and a file system may forbid programs.
is_usable() {
    [[ $1 =~ ^/[[:alnum:]/._-]{1,50}$ ]] &&
        "${as_server[@]}" cp /bin/true "$1/" 2>/dev/null &&
        "${as_server[@]}" "$1/true" 2>/dev/null
}

# Runs a command as the server's user in the private copy of the sources. Of the caller's environment (PG*, PERL5LIB,
# LC_*, MAKEFLAGS) it sees nothing but what is named here, and the tests' own settings, PGQ_*. It is cut off from the
# terminal, so that a Ctrl-C reaches only us, and we wait for it in the way that a signal interrupts.
run() {
    local status=0
    local environment=(
        HOME="$private/home"
        LANG=C.UTF-8
        PATH="$(pg_bin):/usr/bin:/bin"
        PG_CONFIG="$(pg_bin)/pg_config"
        TERM="${TERM:-dumb}"
        TMPDIR="$private/tmp"
    )
    local name
    for name in "${!PGQ_@}"; do
        environment+=("$name=${!name}")
    done
    setsid "${as_server[@]}" env -i --default-signal --chdir="$private/build" "${environment[@]}" "$@" </dev/null &
    wait "$!" || status=$?
    return "$status"
}

# --- the private copy of the server ---------------------------------------------------------------------------------

# Everything up to the point where the extension is installed in the private copy.
prepare() {
    require_packages "${packages[@]}"
    choose_server_user
    make_private_dir
    echo "Building with a private copy of PostgreSQL $pg_version in $private"
    rm -rf "$source_dir/test-output"
    provide_server
    copy_server
    copy_source
    build_and_install
}

pg_bin() {
    echo "$private/usr/lib/postgresql/$pg_version/bin"
}

# For who wants another server than the machine's: to be defined anew, and to set server_root.
provide_server() {
    :
}

# PostgreSQL finds its files relative to its programs, so a copy is an installation of its own. What an earlier
# `make install` has put into the machine's is not to be tested.
copy_server() {
    local parts=("usr/lib/postgresql/$pg_version" "usr/share/postgresql/$pg_version" usr/include/postgresql)
    tar -C "$server_root/" -c "${parts[@]}" | "${as_server[@]}" tar -C "$private" -x --no-same-owner
    run find "$private/usr" -depth -name 'pgq_ext*' -exec rm -r {} +
}

copy_source() {
    tar -C "$source_dir" --exclude-vcs --exclude=./test-output --exclude=./test-server -c . |
        "${as_server[@]}" tar -C "$private/build" -x --no-same-owner
    run make -s clean
}

build_and_install() {
    run make -s -j"$(nproc)" "${build_options[@]}"
    run make -s install "${build_options[@]}"
}

# --- the end --------------------------------------------------------------------------------------------------------

clean_up() {
    local status=$?
    trap '' HUP INT PIPE TERM
    set +e
    disown -a # or bash would report how its job ends
    allow_main_cluster
    if [ -n "$private" ]; then
        stop_programs
        # Above 128 it was a signal that ended the run, and nobody waits for its logs.
        [ "$status" -eq 0 ] || [ "$status" -gt 128 ] || keep_logs
        rm -rf "$private"
    fi
    exit "$status"
}

stop_programs() {
    local attempt pid pids
    for attempt in {1..200}; do
        mapfile -t pids < <(our_programs)
        [ ${#pids[@]} -gt 0 ] || return
        for pid in "${pids[@]}"; do
            if [ "$attempt" -lt 100 ]; then
                stop_program "$pid"
            else
                kill -s KILL "$pid"
            fi
        done 2>/dev/null
        sleep 0.1
    done
}

# A server that is killed leaves shared memory behind; SIGQUIT is its immediate shutdown. Within initdb any signal would
# do that, but there the server ends by itself when initdb is gone.
stop_program() {
    if ! [[ $(cat "/proc/$1/comm") =~ ^(postgres$|memcheck) ]]; then
        kill -s KILL "$1"
    elif ! grep -qzxE -e '--(boot|single)' "/proc/$1/cmdline"; then
        kill -s QUIT "$1"
    fi
}

# Prints the processes whose program or working directory lies in the private directory, whoever started them.
# We look as the server's user, because in a container root may not see that of other users' processes.
our_programs() {
    (cd / && "${as_server[@]}" find /proc/[0-9]* -maxdepth 1 '(' -name exe -o -name cwd ')' -lname "$private*") \
        2>/dev/null | cut -d/ -f3 | sort -u
}

keep_logs() {
    local kept="$source_dir/test-output"
    [ ${#logs[@]} -gt 0 ] || return
    mkdir "$kept" 2>/dev/null || kept=$(mktemp -d "${TMPDIR:-/tmp}/pgq_ext-test-output.XXXXXX")
    tar -C "$private/build" --ignore-failed-read -c "${logs[@]}" 2>/dev/null | tar -C "$kept" -x --no-same-owner
    [ "$(id -u)" -ne 0 ] || chown -R --reference="$source_dir" "$kept"
    echo "The logs of this run are in $kept"
}

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
