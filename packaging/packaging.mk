# SPDX-License-Identifier: Apache-2.0
# What is installed, and the packages made of it; included by the Makefile.

UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
DOCDIR ?= $(PREFIX)/share/doc/pystrobe
# Of the packages; Debian's word for it.
ARCH ?= $(shell dpkg --print-architecture 2>/dev/null || uname -m)
# Set for a cross build: what compiles programs that run while it builds.
CC_FOR_BUILD ?=

DIST := $(BUILD)/dist/pystrobe-$(VERSION).tar.gz
MAN_INI := $(BUILD)/man/pystrobe.ini.5
MAN_PAGES := packaging/man/pystrobe.8 $(MAN_INI)
MAN_HTML := $(BUILD)/man/html
UNIT_FILE := $(BUILD)/units/pystrobe.service
SBOM := $(BUILD)/sbom/pystrobe.spdx.json

.PHONY: man man-html units sbom install dist deb rpm pictures

# pystrobe.ini(5) has its keys from the option table.
$(MAN_INI): packaging/man/pystrobe.ini.5.in $(BUILD)/man/print_sample
	$(BUILD)/man/print_sample mdoc >$@.options
	sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' $< >$@
	@rm -f $@.options

ifeq ($(CC_FOR_BUILD),)
$(BUILD)/man/print_sample: $(BUILD)/tests/tools/print_sample
	@mkdir -p $(@D)
	cp $< $@
else
# Without the libraries: the option table needs none, and of the build machine there may be none.
$(BUILD)/man/print_sample: tests/tools/print_sample.c exporters/types.c exporters/file_name.c $(wildcard conf/*.c base/*.c)
	@mkdir -p $(@D)
	$(CC_FOR_BUILD) -std=c11 -D_GNU_SOURCE -I. -ffunction-sections -fdata-sections -Wl,--gc-sections -o $@ $^
endif

$(UNIT_FILE): packaging/systemd/pystrobe.service.in
	@mkdir -p $(@D)
	sed -e 's|@BINDIR@|$(PREFIX)/bin|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' $< >$@

$(SBOM): packaging/sbom.py $(BUILD)/pystrobe $(BUILD)/pystrobe-linked
	@mkdir -p $(@D)
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) python3 packaging/sbom.py --version $(VERSION) --revision $(REVISION) \
	    --linked $(BUILD)/pystrobe-linked $(BUILD)/pystrobe >$@.partial
	@mv $@.partial $@

man: $(MAN_PAGES)

# The folder is new each time.
$(MAN_HTML): $(MAN_PAGES) packaging/man/manual.css packaging/man_html.sh
	packaging/man_html.sh $(VERSION) $@ $(MAN_PAGES)

man-html: $(MAN_HTML) ## package: the manual as HTML, into build/man/html (takes mandoc)

pictures: ## package: draw the picture of README's architecture page, after a change of its script
	python3 packaging/pictures/data_flow.py >packaging/pictures/data_flow.svg

units: $(UNIT_FILE)

sbom: $(SBOM) ## package: what build/pystrobe is made of, as SPDX

# UNITDIR= or SYSUSERSDIR= with nothing leaves these out.
install: $(BUILD)/pystrobe $(MAN_PAGES) $(UNIT_FILE) ## package: install below $(DESTDIR)$(PREFIX); an ini file where there is none
	install -D -m 755 $(BUILD)/pystrobe $(DESTDIR)$(PREFIX)/bin/pystrobe
	install -D -m 644 packaging/man/pystrobe.8 $(DESTDIR)$(PREFIX)/share/man/man8/pystrobe.8
	install -D -m 644 $(MAN_INI) $(DESTDIR)$(PREFIX)/share/man/man5/pystrobe.ini.5
	install -D -m 644 packaging/completions/pystrobe.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pystrobe
	install -D -m 644 packaging/completions/_pystrobe $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_pystrobe
	install -D -m 644 packaging/completions/pystrobe.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/pystrobe.fish
	install -D -m 644 packaging/pystrobe.ini $(DESTDIR)$(DOCDIR)/examples/pystrobe.ini
	install -m 644 packaging/systemd/exact.conf $(DESTDIR)$(DOCDIR)/examples
	install -m 644 packaging/grafana/pystrobe.json $(DESTDIR)$(DOCDIR)/examples/grafana-dashboard.json
	install -m 644 packaging/grafana/alerts.yml $(DESTDIR)$(DOCDIR)/examples/prometheus-alerts.yml
	install -m 644 README.md CHANGELOG.md SECURITY.md $(DESTDIR)$(DOCDIR)
	[ ! -e $(SBOM) ] || install -m 644 $(SBOM) $(DESTDIR)$(DOCDIR)
	[ ! -e $(MAN_HTML) ] || install -D -m 644 -t $(DESTDIR)$(DOCDIR)/html $(MAN_HTML)/*
	[ -z "$(UNITDIR)" ] || install -D -m 644 $(UNIT_FILE) $(DESTDIR)$(UNITDIR)/pystrobe.service
	[ -z "$(SYSUSERSDIR)" ] || install -D -m 644 packaging/systemd/pystrobe.sysusers $(DESTDIR)$(SYSUSERSDIR)/pystrobe.conf
	[ -e $(DESTDIR)$(SYSCONFDIR)/pystrobe/pystrobe.ini ] || \
	    install -D -m 644 packaging/host.ini $(DESTDIR)$(SYSCONFDIR)/pystrobe/pystrobe.ini

dist: ## package: the source as one file, always the same bytes
	packaging/dist.sh pystrobe-$(VERSION) $(REVISION) $(SOURCE_DATE_EPOCH) $(DIST)

deb: dist ## package: a Debian package into build/deb (ARCH=arm64: cross-compiled)
	packaging/deb.sh $(DIST) $(VERSION) $(SOURCE_DATE_EPOCH) $(ARCH) $(BUILD)/deb

rpm: dist ## package: an RPM package into build/rpm
	packaging/rpm.sh $(DIST) $(VERSION) $(SOURCE_DATE_EPOCH) $(BUILD)/rpm
