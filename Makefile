# SPDX-License-Identifier: Apache-2.0
# The one build file. `make help` prints the targets. Everything goes below build/.

VERSION := 0.1.0
CC ?= cc
BUILD ?= build
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
PKG_CONFIG ?= pkg-config

ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wundef -Wvla -Wformat=2 -Wswitch-enum -Wcast-qual
OPT ?= -O2 -g
HARDEN ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDHARDEN ?= -pie -Wl,-z,relro,-z,now
SAN ?=
WERROR ?=
# A packed source (make dist) says which revision it is; its files have the time of that.
REVISION := $(shell cat REVISION 2>/dev/null || git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH ?= $(shell test ! -e REVISION && git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)

LIBS_PB := $(shell $(PKG_CONFIG) --libs libprotobuf-c 2>/dev/null || echo -lprotobuf-c)
LIBS_CURL := $(shell $(PKG_CONFIG) --libs libcurl 2>/dev/null || echo -lcurl)
LIBS_Z := $(shell $(PKG_CONFIG) --libs libdeflate zlib 2>/dev/null || echo -ldeflate -lz)
LIBS_INI := -linih
LIBS_MHD := $(shell $(PKG_CONFIG) --libs libmicrohttpd 2>/dev/null || echo -lmicrohttpd)
LIBS_SCREEN := $(shell $(PKG_CONFIG) --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)
LIBS_TEST := -lcmocka

CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -isystem $(BUILD)/gen
# What a sanitizer or coverage adds to a program makes system calls of its own (agent/child/call_filter.h).
ifneq ($(SAN),)
CPPFLAGS += -DINSTRUMENTED
endif
CFLAGS_ALL = $(WARN) $(WERROR) $(OPT) $(HARDEN) $(SAN) -fvisibility=hidden $(CPPFLAGS) $(CFLAGS) -MMD -MP
# (The build id: agent/host/build_id.h.)
LDFLAGS_ALL = -Wl,--build-id=sha1 $(LDHARDEN) $(SAN) $(LDFLAGS)

# PORTABLE=1: a program that needs glibc alone, and libcurl only where there is a server to speak with.
ifneq ($(PORTABLE),)
LIBS_PB := -l:libprotobuf-c.a
LIBS_Z := -l:libdeflate.a -l:libz.a
LIBS_INI := -l:libinih.a
endif

# What finds the functions of libcurl, libmicrohttpd and libncursesw, which are loaded when they are first needed
# (base/library.h).
APIS := exporters/http/curl_api agent/serve/microhttpd_api agent/top/ncurses_api

LIBRARIES := base unwind pprof formats conf exporters
PROTOS := $(wildcard pprof/*.proto exporters/*.proto)
PB_C := $(patsubst %.proto,$(BUILD)/gen/%.pb-c.c,$(PROTOS))
PB_H := $(PB_C:.c=.h)
PB_O := $(PB_C:.c=.o)
PAGES := $(patsubst %,$(BUILD)/gen/%.inc,$(foreach e,html css js,$(wildcard formats/*.$(e) agent/serve/*.$(e))))

# All C files of a folder and of the folders below it.
sources = $(filter-out %.bpf.c,$(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c))
lib_objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1))) \
              $(filter $(BUILD)/gen/$(1)/%,$(PB_O))
ARCHIVES := $(foreach l,$(LIBRARIES),$(BUILD)/lib$(l).a)
AGENT_O := $(patsubst %.c,$(BUILD)/%.o,$(call sources,agent))
UNIT_SRC := $(call sources,tests/unit)
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
BENCH := $(BUILD)/tests/bench/bench_unwind
BENCH_SRC := $(addprefix tests/bench/,bench_unwind.c changed.c counters.c floor.c operations.c)
TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c))

# The order in which archives are linked; formats needs pprof, conf needs exporters, all need base.
LINK_LIBS = $(BUILD)/libunwind.a $(BUILD)/libformats.a $(BUILD)/libpprof.a $(BUILD)/libconf.a $(BUILD)/libexporters.a \
            $(BUILD)/libbase.a $(LIBS_PB) $(LIBS_Z) $(LIBS_INI) -lpthread -ldl

.PHONY: all help clean bpf
all: $(BUILD)/pystrobe ## daily: build build/pystrobe (the default)

# Each target that a user runs has "## GROUP: what it does" (tests/lint/targets.sh).
HELP_GROUPS := daily long measure package
help: ## daily: print the targets
	@echo "pystrobe $(VERSION): make [TARGET] [CC=clang] [BUILD=build]"
	@for group in $(HELP_GROUPS); do echo "$$group:"; \
	    sed -n "s/^\([a-z0-9-]*\):.*## $$group: \(.*\)/\1|\2/p" $(MAKEFILE_LIST) | awk -F'|' '{ printf "  %-16s %s\n", $$1, $$2 }'; done

# What the kernel runs for us, as bytes: in the source, so that only who changes it needs clang.
BPF_CC ?= clang-14
BPF_INC ?= unwind/fast/bpf_reader.bpf.inc
bpf: ## package: make unwind/fast/bpf_reader.bpf.inc anew, after a change of unwind/fast/bpf_reader.bpf.c
	@mkdir -p $(BUILD)/unwind/fast
	$(BPF_CC) -target bpf -mcpu=v2 -O2 -ffreestanding -Wall -Wextra -Werror -I. -I/usr/include/$(shell $(CC) -print-multiarch) \
	    -c -o $(BUILD)/unwind/fast/bpf_reader.bpf.o unwind/fast/bpf_reader.bpf.c
	objcopy -I elf64-little -O binary --only-section=program $(BUILD)/unwind/fast/bpf_reader.bpf.o $(BUILD)/unwind/fast/bpf_reader.bpf.bin
	(echo '/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */'; echo '/* Made by `make bpf` of bpf_reader.bpf.c. */'; \
	 readelf -sW $(BUILD)/unwind/fast/bpf_reader.bpf.o | awk '$$4 == "FUNC" { print $$8, $$2 }' | while read -r name at; do \
	     echo "#define BPF_READER_AT_$$name $$((0x$$at / 8))"; done; \
	 echo 'static const unsigned char bpf_reader_code[] = {'; \
	 od -An -v -tx1 -w8 $(BUILD)/unwind/fast/bpf_reader.bpf.bin | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
	 echo '};') >$(BPF_INC)

# What the build needs is looked for once, so that what is missing is named before the first error.
$(BUILD)/needs.stamp: tests/setup/deps.sh
	@CC="$(CC)" sh tests/setup/deps.sh check
	@mkdir -p $(@D)
	@touch $@

clean: ## daily: remove build/
	rm -rf $(BUILD)

$(BUILD)/gen/%.pb-c.c: %.proto | $(BUILD)/needs.stamp
	@mkdir -p $(@D)
	protoc-c --c_out=$(BUILD)/gen -I. $<
$(BUILD)/gen/%.pb-c.h: $(BUILD)/gen/%.pb-c.c ;

# A page, or what belongs to it, as the bytes of an array.
$(BUILD)/gen/%.inc: %
	@mkdir -p $(@D)
	od -An -v -tx1 $< | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@

$(BUILD)/formats/flame.o: $(addprefix $(BUILD)/gen/formats/flame.,html.inc css.inc js.inc)
$(BUILD)/formats/heatmap.o: $(BUILD)/gen/formats/heatmap.html.inc
$(BUILD)/agent/serve/web_page.o: $(addprefix $(BUILD)/gen/agent/serve/,help.html.inc page.html.inc page.css.inc page.js.inc)

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(CC) $(CFLAGS_ALL) -Wno-cast-qual -c -o $@ $<

# Written only if the revision is another one: git pull makes no file newer that has it.
$(BUILD)/revision: always
	@mkdir -p $(@D)
	@echo '$(VERSION) $(REVISION)' | cmp -s - $@ || echo '$(VERSION) $(REVISION)' >$@
.PHONY: always

$(BUILD)/agent/host/version.o: $(BUILD)/revision
$(BUILD)/agent/host/version.o: CPPFLAGS += -DPYSTROBE_VERSION='"$(VERSION)"' -DPYSTROBE_REVISION='"$(REVISION)"'

$(BUILD)/%.o: %.c | $(BUILD)/needs.stamp $(PB_H) $(PAGES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<

define archive_rule
$(BUILD)/lib$(1).a: $(call lib_objects,$(1))
	@rm -f $$@
	$(AR) qcs $$@ $$^
endef
$(foreach l,$(LIBRARIES),$(eval $(call archive_rule,$(l))))

$(BUILD)/libagent.a: $(filter-out $(BUILD)/agent/commands/main.o,$(AGENT_O))
	@rm -f $@
	$(AR) qcs $@ $^

$(BUILD)/pystrobe: $(BUILD)/agent/commands/main.o $(BUILD)/libagent.a $(ARCHIVES)
	$(CC) $(LDFLAGS_ALL) -o $@ $< $(BUILD)/libagent.a $(LINK_LIBS)

# The same with all libraries linked in, for tools that find out what a package depends on.
$(BUILD)/linked/%.o: %.c | $(PB_H) $(PAGES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -DLINKED -c -o $@ $<

$(BUILD)/pystrobe-linked: $(BUILD)/agent/commands/main.o $(APIS:%=$(BUILD)/linked/%.o) $(BUILD)/libagent.a $(ARCHIVES)
	$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(BUILD)/libagent.a $(LINK_LIBS) $(LIBS_CURL) $(LIBS_MHD) $(LIBS_SCREEN)

# What several kinds of tests use: memory images, which tools know, too, and processes made by hand.
IMAGES_LIB := $(BUILD)/libimages.a
$(IMAGES_LIB): $(patsubst %.c,$(BUILD)/%.o,$(call sources,tests/images))
	@rm -f $@
	$(AR) qcs $@ $^

TEST_LIB := $(BUILD)/libtests.a
$(TEST_LIB): $(patsubst %.c,$(BUILD)/%.o,$(call sources,tests/images) $(call sources,tests/fakes))
	@rm -f $@
	$(AR) qcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_LIB) $(BUILD)/libagent.a $(ARCHIVES)
	$(CC) $(LDFLAGS_ALL) -o $@ $< $(TEST_LIB) $(BUILD)/libagent.a $(LINK_LIBS) $(LIBS_TEST)

$(BUILD)/tests/tools/%: $(BUILD)/tests/tools/%.o $(IMAGES_LIB) $(BUILD)/libagent.a $(ARCHIVES)
	$(CC) $(LDFLAGS_ALL) -o $@ $< $(IMAGES_LIB) $(BUILD)/libagent.a $(LINK_LIBS)

$(BENCH): $(BENCH_SRC:%.c=$(BUILD)/%.o) $(BUILD)/libunwind.a $(BUILD)/libbase.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^

.SECONDARY:
# (Not all of $(BUILD): sanitizers' builds and whole systems lie below it, which others may be changing.)
-include $(shell find $(addprefix $(BUILD)/,$(LIBRARIES) agent linked gen tests man) -type f -name '*.d' 2>/dev/null)

include packaging/packaging.mk
include tests/tests.mk
