# shellcheck shell=bash
# A server that checks itself, in place of the machine's: Debian's source of PostgreSQL, built with the server's own
# assertions, which also clobber freed memory and look for writes beyond the end of what was allocated, and with the
# requests by which valgrind follows palloc. Building it takes some minutes, so it is kept for the next run, below
# test-server/. Used by test/run.

readonly checked_packages=(dpkg-dev libicu-dev valgrind)

provide_server() {
    server_root=$source_dir/test-server
    [ ! -e "$server_root/complete" ] || return 0
    require_packages "${checked_packages[@]}"
    echo "Building PostgreSQL $pg_version with assertions, once"
    run mkdir "$private/source"
    fetch_source
    compile_server
    rm -rf "$server_root"
    mkdir "$server_root"
    tar -C "$private/source/root" -c . | tar -C "$server_root" -x --no-same-owner
    touch "$server_root/complete"
}

# What apt is told so that it reads source packages, and leaves the machine's own lists alone.
apt_for_sources() {
    local apt=$private/source/apt
    local program=$1
    shift
    run env --chdir="$private/source" "$program" -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt" -o "Dir::State::Lists=$apt/lists" \
        -o "Dir::Cache=$apt/cache" "$@"
}

# The newest version that can be had. It need not be that of the machine's packages: not every mirror keeps the sources
# of all of them.
fetch_source() {
    local file version apt=$private/source/apt
    run mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -s "$file" ] || sed -n 's/^deb /deb-src /p' "$file"
    done | "${as_server[@]}" tee "$apt/all.list" >/dev/null
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -s "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" | "${as_server[@]}" tee "$apt/${file##*/}" >/dev/null
    done
    apt_for_sources apt-get update || true
    for version in $(apt_for_sources apt-cache showsrc "postgresql-$pg_version" | sed -n 's/^Version: //p' | sort -rV); do
        if apt_for_sources apt-get source --download-only "postgresql-$pg_version=$version"; then
            run dpkg-source -x "$private/source/postgresql-${pg_version}_$version.dsc" "$private/source/tree" >/dev/null
            return
        fi
    done
    fail "found no source package of postgresql-$pg_version"
}

# Laid out as Debian's, so that whoever looks for its parts finds them. pgtap is SQL, and the same for every server.
compile_server() {
    local lib=/usr/lib/postgresql/$pg_version share=/usr/share/postgresql/$pg_version
    local tree=$private/source/tree root=$private/source/root part
    run env --chdir="$tree" ./configure --quiet --prefix=/usr --bindir="$lib/bin" --libdir="$lib/lib" --datarootdir=/usr/share \
        --datadir="$share" --includedir=/usr/include/postgresql --sysconfdir=/etc/postgresql-common --disable-rpath \
        --with-extra-version=' (checked)' --enable-cassert --enable-debug --enable-tap-tests --with-icu --without-readline \
        --without-zlib CFLAGS='-O1 -g -fno-omit-frame-pointer' CXXFLAGS='-O1 -g -fno-omit-frame-pointer' CPPFLAGS=-DUSE_VALGRIND
    for part in . contrib src/test/regress src/test/isolation src/test/perl; do
        run make -s -j"$(nproc)" -C "$tree/$part" install DESTDIR="$root" >"$private/make.log" 2>&1 ||
            { tail -n 50 "$private/make.log"; fail "PostgreSQL does not build"; }
    done
    run cp -r --parents "$share/extension/"pgtap* "$root"
    run cp "$tree/src/tools/valgrind.supp" "$root$share"
}
