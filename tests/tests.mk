# SPDX-License-Identifier: Apache-2.0
# The test targets, included by the Makefile. Each sanitizer has a build of its own below build/;
# nothing else is written, but for the cache folder with the newer Pythons (tests/setup/roots.py).

TEST_PYTHON ?= /usr/bin/python3
DEPS ?= test
FUZZ_SECONDS ?= 30
FUZZ_RUNS ?= -1
# 0: by chance
FUZZ_SEED ?= 1
JOBS ?= $(shell nproc)
# Which live tests run; those that take their time are `make integration-long`.
PYTEST_ARGS ?= -m "not long"
# Seconds of `make soak`; an hour says much more of the same.
SOAK ?= 180
BENCH_ARGS ?=
AGAIN = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))
# Tests that run at a time: about half of a test's time is waiting.
WORKERS ?= $(shell n=$$(($$(nproc) + 1)); echo $$((n > 6 ? 6 : n)))
RUN_TESTS = $(TEST_PYTHON) tests/run.py --build $(BUILD) --name $@ --workers $(WORKERS)
PYTHONS = $(BUILD)/tests/pythons.jsonl
TRUTH ?=
SPOOL ?=
WEIGHTS ?=
TRUTH_RUN = PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/truth/run.py --build $(BUILD) --check
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(FUZZ_SRC))
C_FILES = $(foreach folder,$(LIBRARIES) agent tests/unit tests/images tests/fakes tests/fuzz tests/tools tests/bench,$(call sources,$(folder)))

# A sanitizer's own build, with its name as the folder. Tests marked `timing` measure the program's
# own speed, those marked `tools` run no code that others do not; both are left out there. Each test
# runs once, those that read Python's structures once for each way in which frames lie in memory: a second
# parameter runs the same C code, and `make test` has just tried it. `make nightly` has a sanitizer
# run all of them: SANITIZED_TESTS=
SANITIZED = $(AGAIN) BUILD=$(BUILD)/$@ OPT="-O1 -g -fno-omit-frame-pointer" HARDEN= LDHARDEN= SAN
SANITIZED_TESTS ?= --once-a-python
ONE_OF_EACH = 3.8 3.11 3.12 3.14 3.15
NOT_TIMING = PYTEST_ARGS='-m "not timing and not tools and not long" $(SANITIZED_TESTS)' PYSTROBE_ONLY="$(ONE_OF_EACH)"
# TSan needs addresses that are not spread too far. All runs like that: else programs of ours that it starts
# anew for it would differ from others in that.
TSAN_WRAPPER = $(shell setarch $$(uname -m) -R true 2>/dev/null && echo "setarch $$(uname -m) -R")

export ASAN_OPTIONS ?= detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1
# (It sleeps for a second at the end of each program that has threads left, else.)
export TSAN_OPTIONS ?= halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: deps unit integration integration-long test test-pyroscope test-long pythons backends test-programs lint format tidy \
        compile-commands asan tsan valgrind coverage fuzz fuzz-programs fuzz-runs lines layout-row bench bench-encode bench-unwind bench-layers bench-tools \
        bench-target bench-scale demo clean-root truth truth-short weights weights-short budget attacks churn faults spool soak servers programs packages \
        nightly packages-arm64 entrypoint bench-delivery bench-exec bench-record bench-tests yama systems browser

deps: ## daily: install what is missing (DEPS=build, demo, test, packages or browser) with apt-get or dnf
	@sh tests/setup/deps.sh $(DEPS)

# The fuzz targets are compiled, too: linked with libFuzzer and run they are only by `make fuzz`.
test-programs: $(BUILD)/pystrobe $(UNIT) $(TOOLS) $(BENCH) $(FUZZ:%=%.o) $(MAN_INI)
$(FUZZ:%=%.o): WERROR = -Werror

pythons: ## long: find the Pythons of the live tests; get those that Debian or Maven Central has
	@$(TEST_PYTHON) tests/setup/pythons.py -o $(PYTHONS)

backends: ## long: build the servers that the tests push to (tests/backends)
	@$(TEST_PYTHON) tests/setup/backends.py -o $(BUILD)/tests/backends.jsonl

# One unit test, or those of a name: T=retry_queue, T=delivery/retry_queue. The names: T=?
ifneq ($(origin T),command line)
T :=
endif
T_FILE = $(filter-out ./,$(dir $(T)))test_$(patsubst test_%,%,$(basename $(notdir $(T))))
UNIT_NAMES = $(subst test_,,$(UNIT:$(BUILD)/tests/unit/%=%))
UNIT_CHOSEN = $(if $(T),$(or $(filter $(BUILD)/tests/unit/$(T_FILE) %/$(T_FILE),$(UNIT)),\
    $(error unit: there is no test $(T); there are $(UNIT_NAMES))),$(UNIT))
unit: $(UNIT_CHOSEN) $(if $(T),,$(TOOLS)) ## daily: build and run the unit tests, or one (T=NAME; RUN=words before each)
	@$(RUN_TESTS) --wrapper "$(RUN)" --unit $(UNIT_CHOSEN)

integration: pythons backends $(BUILD)/pystrobe $(TOOLS) $(BENCH) ## daily: run the tests with live Pythons (PYTEST_ARGS="-k exec")
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) PYSTROBE_RUN="$(RUN)" \
	    $(RUN_TESTS) --pytest $(PYTEST_ARGS) tests/integration

integration-long: pythons backends $(BUILD)/pystrobe $(TOOLS) ## long: the live tests that take their time
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) $(RUN_TESTS) --pytest -m long tests/integration

servers: pythons $(BUILD)/pystrobe ## long: real programs from PyPI: gunicorn, uvicorn and celery, whose workers come and go; what Nuitka compiles
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest tests/integration/test_servers.py tests/integration/test_nuitka.py

# Where the table is written; tests/programs.md has one that is committed.
PROGRAMS_TABLE ?= $(BUILD)/programs.md
programs: pythons $(BUILD)/pystrobe ## measure: seventy real programs from PyPI: found after, name, CPU time (PROGRAMS_TABLE=tests/programs.md)
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) PROGRAMS_TABLE=$(PROGRAMS_TABLE) \
	    $(RUN_TESTS) --workers 1 --pytest -s -m nightly tests/integration/test_named_programs.py

soak: $(BUILD)/pystrobe ## measure: does an agent grow while processes come and go (SOAK=3600 for an hour)
	@$(TEST_PYTHON) tests/soak/run.py --build $(BUILD) --seconds $(SOAK) --json $(BUILD)/soak.json

browser: pythons $(BUILD)/pystrobe ## long: the page of an agent, flame graphs and heat maps in a headless Chromium
	@sh tests/setup/deps.sh browser
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --name browser --pytest -m long tests/integration/test_page.py tests/integration/test_formats.py

entrypoint: pythons $(BUILD)/pystrobe ## long: pystrobe exec as a container's first process: under runc, and next to tini
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -m long tests/integration/test_entrypoint.py tests/integration/test_front.py

test-pyroscope: pythons backends $(BUILD)/pystrobe ## long: end to end against a Pyroscope (PYROSCOPE=/path/to/pyroscope, or PYROSCOPE_URL=)
	@[ -n "$(PYROSCOPE)$(PYROSCOPE_URL)" ] || { echo "test-pyroscope: set PYROSCOPE=/path/to/pyroscope or PYROSCOPE_URL=" >&2; exit 64; }
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -k gives_back tests/integration/test_backends.py

lines: pythons $(TOOLS) ## measure: each instruction's line for the whole standard library of each Python
	@PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) LINES_ALL=1 \
	    $(RUN_TESTS) --pytest tests/integration/test_lines.py

layout-row: ## package: what a Python's headers say of its layout (V=3.12 or PYTHON=/path/to/python)
	@CC="$(CC)" $(TEST_PYTHON) tests/tools/layout_row.py $(or $(PYTHON),$(V)) $(if $(FREE_THREADED),--free-threaded)

test: ## daily: install what is missing, build, run unit and integration tests
	@sh tests/setup/deps.sh test
	+@$(AGAIN) test-programs pythons backends
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) PYSTROBE_RUN="$(RUN)" \
	    $(RUN_TESTS) --wrapper "$(RUN)" --unit $(UNIT) --pytest $(PYTEST_ARGS) tests/integration

# What waits for live processes, one suite after the other; beside it, at a lower priority, what is
# busy all the time, and what mostly sleeps. What they would all build is built before. The lanes take
# about as long as each other.
#
# What is measured over minutes, or tries chance, runs in `make nightly` only. What stands for it here:
#   soak         test_come_and_go.py: processes that come and go leave no file, thread or process behind
#   truth        test_frames.py, test_quiet.py, test_async.py: each stack equals the program's own view
#   weights      tests/unit/sampling: times by a clock that is stepped; test_agent.py: two services add up
#   budget       tests/unit/supervisor/test_budget.c; test_budget.py: what its readers take counts
#   attacks      test_web_limits.py, test_budget.py, test_hang.py, test_samplers.py, test_source.py: one at a time
#   churn        test_children.py with 200 deaths, test_finding.py with 2,500 processes and 4 pids used anew
#   bench-tests  test_bench.py, test_bench_tools.py: figures, tables, targets
#   spool        tests/unit/delivery/test_spool_kills.c: a kill at each call; test_spool.py: 50 kills
#   lines        test_lines.py: 200,000 code units of each Python
#
# What each step took, and may take, in seconds of CPU (which a loaded machine changes little). Measured on two CPUs
# with warm caches: test 353 s of wall (321 with the machine for itself), then test-long 1,537 s, 1,890 s in all. The
# lanes are to end within 2,100 s. What a later issue adds goes into the room that its step has; beyond it, something
# else has to become shorter, or it runs in `make nightly`.
#
#   step            took  may take  adds to it
#   test             433       500  each issue: 60 s of CPU in all
#   asan             330       380  delivery, sampling: tests of new C code, once a layout
#   tsan             387       430  delivery, sampling: tests of new threads
#   packages         250       290  packaging, README's tasks
#   entrypoint        47       100  exec, containers
#   clean-root       330       400  README's commands
#   yama             220       240  rights, BPF
#   lint, tidy       372       420  new files: 1 s each
#   valgrind         245       300  new unit tests: 3 s each
#   packages-arm64   128       160
#   fuzz             122       300  a new parser: 20 s each
#   browser           15        60  the pages
#   servers           33        60
#   faults            29       120  delivery: new outages, which mostly sleep
LIVE_STEPS = asan tsan packages entrypoint clean-root yama
BUSY_STEPS = systems lint tidy valgrind packages-arm64 fuzz
CALM_STEPS = browser servers faults
# The same inputs in each run, however fast the machine is; a fuzzer that is slow ends after a minute.
LONG_FUZZ_RUNS ?= 20000
LONG_OUTAGE_S ?= 45
# Three lanes are busy already.
LONG_WORKERS ?= 2
test-long: ## long: all that takes its time: sanitizers, packages, containers, fuzzers, a bare machine
	@sh tests/setup/deps.sh test
	@sh tests/setup/deps.sh packages
	@sh tests/setup/deps.sh browser
	+@$(AGAIN) all test-programs man dist
	+@$(AGAIN) pythons backends
	+@MAKE="$(MAKE)" FUZZ_RUNS=$(LONG_FUZZ_RUNS) FUZZ_SECONDS=60 PYSTROBE_OUTAGE_S=$(LONG_OUTAGE_S) WORKERS=$(LONG_WORKERS) \
	    tests/steps.sh $(BUILD)/long $(LIVE_STEPS) / $(BUSY_STEPS) / $(CALM_STEPS)

# The long forms, one after the other, and a table of what they found that is committed.
NIGHTLY ?=
nightly: ## long: soak, truth, fuzz and the like in full; notes figures in tests/nightly.txt (NIGHTLY="soak truth")
	+@MAKE="$(MAKE)" $(TEST_PYTHON) tests/nightly.py --table tests/nightly.txt --logs $(BUILD)/nightly $(NIGHTLY)

# The tests of a file share one machine here and below: one worker, or each would start it anew.
# Which of their tests run: PACKAGES_ARGS="-m nightly" for those that measure times.
PACKAGES_ARGS ?=
packages: ## package: make the packages and live through their lives on a system of their own (needs root)
	@sh tests/setup/deps.sh packages
	+@$(AGAIN) all backends deb rpm
	@PYSTROBE_BUILD=$(BUILD) $(RUN_TESTS) --workers 1 --pytest $(PACKAGES_ARGS) tests/packages

yama: $(BUILD)/pystrobe ## long: on a kernel of its own, by qemu: who may read whom at Yama's levels; a clock that is set, a suspend, its BPF
	@sh tests/setup/deps.sh packages
	@PYSTROBE_BUILD=$(BUILD) $(RUN_TESTS) --workers 1 --pytest tests/yama

systems: ## long: put the systems that the long tests run on into the cache folder (needs root)
	@$(TEST_PYTHON) tests/setup/systems.py

packages-arm64: dist ## package: cross-compile the Debian package, and run the unit tests by qemu (needs root)
	@sh tests/setup/deps.sh packages
	@$(TEST_PYTHON) tests/setup/cross.py --build $(BUILD)

lint: $(PB_H) $(ARCHIVES) $(BUILD)/libagent.a $(MAN_INI) ## daily: includes, cycles, banned calls, function lengths, caches, scripts, targets, formatting, manual pages
	@CC="$(CC)" WARN="$(WARN)" CPPFLAGS="$(CPPFLAGS)" BUILD="$(BUILD)" PYTHON="$(TEST_PYTHON)" \
	    bash tests/lint/all.sh

format: ## daily: format the C files in place
	@tests/lint/format.sh --fix

compile-commands: $(PB_H) $(PAGES) ## daily: write compile_commands.json, for clangd and other tools
	@printf '%s\n' $(C_FILES) | python3 tests/tools/compile_commands.py $(CC) \
	    $(filter-out -MMD -MP,$(CFLAGS_ALL)) -DPYSTROBE_VERSION='"$(VERSION)"' -DPYSTROBE_REVISION='"$(REVISION)"' \
	    >compile_commands.json

# The static analyzer follows each path of each function. It takes ten times as long for the tests as for the
# product, as some are one long path of many asserts (a minute for test_gil_skip.c); `make nightly` has it read them.
TIDY_OF_TESTS ?= --checks=-clang-analyzer-*
TIDY_FILES = xargs -P $(JOBS) -I{} clang-tidy-14 --quiet --config-file=tests/lint/clang-tidy.yaml
TIDY_FLAGS = {} -- $(WARN) $(CPPFLAGS) -DPYSTROBE_VERSION='"$(VERSION)"' -DPYSTROBE_REVISION='"$(REVISION)"'
tidy: $(PB_H) $(PAGES) ## long: clang-tidy over all C files, its static analyzer over those of the product
	@printf '%s\n' $(filter-out tests/%,$(C_FILES)) | $(TIDY_FILES) $(TIDY_FLAGS)
	@printf '%s\n' $(filter tests/%,$(C_FILES)) | $(TIDY_FILES) $(if $(TIDY_OF_TESTS),'$(TIDY_OF_TESTS)') $(TIDY_FLAGS)

asan: ## long: unit and integration tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
	+@$(SANITIZED)="-fsanitize=address,undefined -fno-sanitize-recover=all" $(NOT_TIMING) test

# test_pause holds a process to 100 ms, which TSan's own slowness breaks on a busy machine; test_hang looks at
# how a child's threads wait for locks, and TSan has a thread of its own there that never does. Our threads
# do the same whatever the Python is, so each test runs once.
tsan: ONE_OF_EACH = 3.11 3.15
tsan: SANITIZED_TESTS = --once
tsan: ## long: unit and integration tests under ThreadSanitizer
	+@$(TSAN_WRAPPER) $(SANITIZED)="-fsanitize=thread" $(NOT_TIMING) \
	    UNIT_SRC="$(filter-out %/test_pause.c %/test_hang.c,$(UNIT_SRC))" test

# What glibc keeps for threads that were never joined is only "possibly" lost. test_spool_kills counts
# a child's system calls, to which valgrind adds its own.
# A golden image takes fifteen seconds there, so it is one of each way in which frames lie in memory.
VALGRIND_IMAGES ?= {3.8*,3.11*,3.12*,3.14*,3.15.2-debian}
valgrind: export GOLDEN_IMAGES = $(VALGRIND_IMAGES)
valgrind: ## long: unit tests under valgrind
	+@$(AGAIN) BUILD=$(BUILD)/valgrind OPT="-O1 -g" \
	    RUN="valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=99 --child-silent-after-fork=yes --soname-synonyms=somalloc=nouserintercepts" \
	    UNIT_SRC="$(filter-out %/test_spool_kills.c,$(UNIT_SRC))" unit

coverage: ## long: line coverage of unit and integration tests as HTML
	+@$(AGAIN) CC=gcc BUILD=$(BUILD)/coverage OPT="-O0 -g" HARDEN= LDHARDEN= SAN=--coverage test
	@lcov -q --capture --directory $(BUILD)/coverage --base-directory . --no-external \
	    -o $(BUILD)/coverage/all.info
	@lcov -q --remove $(BUILD)/coverage/all.info '*/gen/*' '*/tests/*' -o $(BUILD)/coverage/own.info
	@genhtml -q -o $(BUILD)/coverage/html $(BUILD)/coverage/own.info
	@lcov --summary $(BUILD)/coverage/own.info
	@echo "coverage: see $(BUILD)/coverage/html/index.html"

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(TEST_LIB) $(BUILD)/libagent.a $(ARCHIVES)
	$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $< $(TEST_LIB) $(BUILD)/libagent.a $(LINK_LIBS)

fuzz-programs: $(FUZZ)

# New inputs and crashes stay below the build directory. The seed is the same in every run, so that a run tells about the
# tree and not about luck.
FUZZ_RUN := $(FUZZ:%=%.run)
.PHONY: $(FUZZ_RUN)
$(FUZZ_RUN): %.run:
	@mkdir -p $(BUILD)/found/$(*F)
	@$* -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -runs=$(FUZZ_RUNS) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
	    -artifact_prefix=$(BUILD)/found/$(*F)- $(BUILD)/found/$(*F) $(wildcard $(addprefix tests/fuzz/corpus/,$(*F) $(*F:fuzz_%=%))) \
	    </dev/null >$*.log 2>&1 || { tail -c 8000 $*.log; echo "failed: $(*F)"; exit 1; }
	@sed -n 's/^stat::number_of_executed_units: */fuzz: $(*F), runs: /p' $*.log
	@touch $*.passed

FUZZED = $(AGAIN) CC=clang BUILD=$(BUILD)/fuzz OPT="-O1 -g" HARDEN= LDHARDEN= \
    SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"
FUZZ_COUNT = $(words $(FUZZ_SRC))
fuzz: ## long: run each fuzzer for FUZZ_SECONDS (30), JOBS at a time (FUZZ_SEED=0: other inputs each time)
	+@$(FUZZED) fuzz-programs
	+@rm -f $(BUILD)/fuzz/tests/fuzz/*.passed; $(FUZZED) -k fuzz-runs; \
	    passed=$$(find $(BUILD)/fuzz/tests/fuzz -name '*.passed' | wc -l); \
	    echo "$$passed passed, $$(($(FUZZ_COUNT) - passed)) failed, 0 skipped"; [ $$passed = $(FUZZ_COUNT) ]

fuzz-runs: $(FUZZ_RUN)

# What is measured, and how long: BENCH_ARGS="--rounds 3 --rates 100", or --help.
bench-tools: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: pystrobe, py-spy and 3.15's own profiler on the same programs (BENCH_ARGS=...)
	@PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/bench/tools.py --build $(BUILD) $(BENCH_ARGS)

bench-target: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: what being profiled costs a program (BENCH_ARGS=...)
	@PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/bench/tools_cost.py --build $(BUILD) $(BENCH_ARGS)

bench-unwind: pythons $(BENCH) ## measure: what a sample costs, next to CPython's own reader (BENCH_ARGS=--help)
	@PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/bench/bench_unwind.py --build $(BUILD) \
	    --json $(BUILD)/bench/unwind.json $(BENCH_ARGS)

bench-layers: pythons $(BENCH) ## measure: what each layer that only saves time saves (BENCH_ARGS=--help)
	@PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/bench/layers.py --build $(BUILD) \
	    --json $(BUILD)/bench/layers.json $(BENCH_ARGS)

bench-encode: $(TOOLS) ## measure: what encoding a large profile costs, to pprof and to OTLP (BENCH_ARGS=--check)
	@$(TEST_PYTHON) tests/bench/encode.py --build $(BUILD) --json $(BUILD)/bench/encode.json $(BENCH_ARGS)

bench-scale: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: what an agent costs on a host of up to 1000 Python processes, and a recording of one (BEFORE=another pystrobe)
	@PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/bench/scale.py --build $(BUILD) --json $(BUILD)/bench/scale.json \
	    $(if $(BEFORE),--before $(BEFORE)) $(BENCH_ARGS)

bench-exec: $(BUILD)/pystrobe ## measure: how much later a command starts under pystrobe exec, and what that takes
	@$(TEST_PYTHON) tests/bench/exec.py --build $(BUILD) $(BENCH_ARGS)

bench-record: $(BUILD)/pystrobe ## measure: from pystrobe record to a flame graph on a host of 100 Python processes
	@$(TEST_PYTHON) tests/bench/record.py --build $(BUILD) $(BENCH_ARGS)

bench-delivery: $(BUILD)/pystrobe ## measure: what an agent sends for 100 services with real stacks: requests and bytes (BENCH_ARGS=...)
	@$(TEST_PYTHON) tests/bench/delivery.py --build $(BUILD) --json $(BUILD)/bench/delivery.json $(BENCH_ARGS)

bench: ## measure: all benchmarks, with short rounds
	+@$(AGAIN) bench-encode BENCH_ARGS=
	+@$(AGAIN) bench-unwind BENCH_ARGS="--duration 0.5 --no-strace --json $(BUILD)/bench/unwind-short.json $(BENCH_ARGS)"

weights: pythons $(BUILD)/pystrobe ## measure: do times add up to the kernel's numbers, whatever a program does
	@PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) $(TEST_PYTHON) tests/weights/run.py --build $(BUILD) \
	    --json $(BUILD)/weights.json $(WEIGHTS)

weights-short: WEIGHTS = --short
weights-short: weights ## measure: the same for a few workloads, in a minute

churn: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: 10,000 processes that come and go, die while they are read, or have another's pid; 5,000 that stay
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) $(RUN_TESTS) --pytest -m "long or nightly" \
	    -k "storm_of_short_lives or dies_while_it_is_read or reused_pid or among_5000" tests/integration/test_children.py \
	    tests/integration/test_finding.py

faults: pythons $(BUILD)/pystrobe $(TOOLS) ## long: what hangs, fails or is away for minutes: disks, servers, processes that block their reader
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -m long $(addprefix tests/integration/,test_disk.py test_faults.py test_load.py test_pull.py test_reload.py test_samplers.py test_spool.py \
	    test_stop.py test_top.py)

bench-tests: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: do the benchmarks of whole tools measure what they say
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -m long tests/integration/test_bench_tools.py

budget: pythons $(BUILD)/pystrobe ## measure: what pystrobe may use of CPU time and memory holds, and what was given up for it is told
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -m "nightly or not nightly" tests/integration/test_budget.py

attacks: pythons $(BUILD)/pystrobe ## measure: all that an unprivileged user can do to an agent, at once (ATTACK_S=1800 for an hour; needs root)
	@PYSTROBE=$(BUILD)/pystrobe PYSTROBE_BUILD=$(BUILD) PYSTROBE_PYTHONS=$(PYTHONS) \
	    $(RUN_TESTS) --pytest -s -m nightly tests/integration/test_attacks.py

truth: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: programs whose truth is known (TRUTH="--programs edges --versions 3.15")
	@$(TRUTH_RUN) --json $(BUILD)/truth/full.json $(TRUTH)

truth-short: pythons $(BUILD)/pystrobe $(TOOLS) ## measure: the same in a few minutes
	@$(TRUTH_RUN) --short --json $(BUILD)/truth/short.json $(TRUTH)

spool: $(BUILD)/pystrobe ## measure: kill -9 agents at 500 random moments, and see that all that was on disk arrives (SPOOL="--kills 50")
	@$(TEST_PYTHON) tests/integration/kills.py --build $(BUILD) $(SPOOL)

demo: ## daily: watch a small shop for ten seconds and print where its time goes
	+@BUILD="$(BUILD)" MAKE="$(MAKE)" bash tests/demo/demo.sh

clean-root: ## long: run README's commands on a bare Debian 12 (needs root)
	@$(TEST_PYTHON) tests/setup/clean_root.py --build $(BUILD)
