# Build, install and test pgq_ext with PGXS. `make && make install` is all a packager needs.

EXTENSION  = pgq_ext
EXTVERSION = 0.1.0
MODULE_big = pgq_ext
OBJS       = $(patsubst %.cpp,%.o,$(sort $(wildcard src/*.cpp src/*/*.cpp)))

# The install script is assembled from its parts: tables once and in order, then functions, views, privileges.
SQL_PARTS    = sql/prologue.sql $(sort $(wildcard sql/schema/*.sql)) $(sort $(wildcard sql/api/*.sql)) \
               $(sort $(wildcard sql/admin/*.sql)) sql/privileges.sql
INSTALL_SQL  = $(EXTENSION)--$(EXTVERSION).sql
DATA_built   = $(INSTALL_SQL)
DOCS         = $(sort $(wildcard doc/*.md))
EXTRA_CLEAN  = $(EXTENSION)--*.sql tmp_check tmp_check_iso results output_iso regression.diffs regression.out

PG_CONFIG   ?= pg_config

# The server's headers are somebody else's: -isystem keeps their warnings out of ours.
PG_CPPFLAGS  = -I$(srcdir)/src -isystem $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)
PG_CXXFLAGS  = -std=c++17 -fno-exceptions -fno-rtti -fvisibility=hidden \
               -Wall -Wextra -Wshadow -Werror -Wno-unknown-warning-option $(EXTRA_CXXFLAGS)

REGRESS      = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --temp-instance=./tmp_check --temp-config=test/pgq_ext.conf
ISOLATION    = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --temp-instance=./tmp_check_iso --temp-config=test/pgq_ext.conf
TAP_TESTS    = 1
PROVE_TESTS ?= test/t/*.pl

# Fault points for tests: see src/pg/fault.hpp.
ifdef FAULTS
PG_CPPFLAGS += -DPGQ_EXT_FAULTS
endif

# The server's assertions in our code, as `make test` builds it.
ifneq ($(ASSERTS),)
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING
endif

# `make test`, `make bench` and `make demo` bring PostgreSQL along: they must work before it is there.
ifneq ($(filter-out test test-checked test-valgrind soak soak-crash random-workload bench demo lint format, $(or $(MAKECMDGOALS), all)),)
PGXS        := $(shell $(PG_CONFIG) --pgxs)
# Bitcode for the server's JIT has no use here: nothing of ours is called from a plan's inner loop.
override with_llvm = no
include $(PGXS)

$(OBJS): $(sort $(wildcard src/*.hpp src/*/*.hpp)) Makefile

$(INSTALL_SQL): $(SQL_PARTS)
	cat $(SQL_PARTS) > $@

.PHONY: objects
objects: $(OBJS)
endif

.PHONY: test test-checked test-valgrind soak soak-crash random-workload bench demo lint format
test:
	@test/run $(TEST)

# The same on a server with assertions of its own, and a part of them under valgrind: see doc/development.md.
test-checked:
	@test/run --checked $(TEST)

test-valgrind:
	@test/run --valgrind $(TEST)

# A mixed load that watches memory, slot and tables, for long: make soak SECONDS=3600.
soak:
	PGQ_SOAK_SECONDS=$(or $(SECONDS),600) test/run test/t/080_soak.pl

# All parts but the long ones, or some: make bench B=claim. See test/bench/README.md.
bench:
	@test/bench/run $(B)

# Random kills under load, for long: make soak-crash CYCLES=50.
soak-crash:
	PGQ_CRASH_CYCLES=$(or $(CYCLES),50) test/run test/t/061_crash_loop.pl

# Random workloads against an oracle, for long: make random-workload ROUNDS=100.
random-workload:
	PGQ_RANDOM_ROUNDS=$(or $(ROUNDS),100) test/run test/t/070_random_workload.pl

demo:
	@demo/run $(DEMO_ARGS)

lint:
	test/lint

format:
	clang-format-14 -i $(shell find src demo test -name '*.cpp' -o -name '*.hpp')
