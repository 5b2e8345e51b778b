# The front door of RoomBridge. `make help` lists what it can do.
.DEFAULT_GOAL := help
.PHONY: help setup build test check fmt demo bench soak sanitize install uninstall deb

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
SWIFT ?= swift
# Who accesses what at the same time is checked in every test; release builds do not pay for it (docs/DECISIONS.md).
RELEASE = -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked
TEST_TIMEOUT ?= 1500
SOAK_TIMEOUT ?= 7200
# One test at a time: hundreds at once, with real servers, starve each other, and the whole takes no longer so.
SWIFT_TEST = SWIFT_BACKTRACE=enable=no timeout -k 5 $(TEST_TIMEOUT) $(SWIFT) test --disable-xctest --skip-build --no-parallel

help: ## Lists these verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## Installs Debian packages and the Python environment of the tests; nothing when they are there
	@.ci/setup test

build: ## Builds the release binaries into .build/release
	@.ci/setup build
	$(SWIFT) build $(RELEASE) --product roombridge
	$(SWIFT) build $(RELEASE) --product roomhub
	$(SWIFT) build $(RELEASE) --product roomtail

test: setup ## Sets up, builds, runs every test and prints the ten slowest
	$(SWIFT) build --build-tests
	@$(SWIFT_TEST) 2>&1 | .ci/slowest

check: ## Format and conventions, then every test: what CI runs
	@.ci/setup test
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests
	@$(MAKE) --no-print-directory test

fmt: ## Formats the sources
	$(SWIFT) format format --in-place --recursive Package.swift Sources Tests

demo: build ## Shows it working: hub, receiver, bridge, a kill -9 in the middle, and the count at the end
	@python3 deploy/demo/demo.py .build/release

bench: setup ## Measures against the bare libcurl loop and, where they are at hand, the Go peer and the real server
	$(SWIFT) build $(RELEASE)
	@.build/release/roombench

sanitize: TEST_TIMEOUT = $(SOAK_TIMEOUT)
sanitize: setup ## Runs the tests under the thread and the address sanitizer
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/thread
	@$(SWIFT_TEST) --sanitize=thread --scratch-path .build/thread 2>&1 | .ci/slowest
	$(SWIFT) build --build-tests --sanitize=address --scratch-path .build/address
	@ASAN_OPTIONS=detect_leaks=0 $(SWIFT_TEST) --sanitize=address --scratch-path .build/address 2>&1 | .ci/slowest

soak: TEST_TIMEOUT = $(SOAK_TIMEOUT)
soak: setup ## Runs the slow tests, minutes each, which the other verbs leave out
	$(SWIFT) build --build-tests
	@ROOMBRIDGE_SOAK=1 $(SWIFT_TEST) --filter SoakTests 2>&1 | .ci/slowest

# Where `make install` puts things; a package sets DESTDIR.
DESTDIR ?=
prefix ?= /usr/local
bindir ?= $(prefix)/bin
sysconfdir ?= /etc
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/roombridge
unitdir ?= $(prefix)/lib/systemd/system
catalogdir ?= $(prefix)/lib/systemd/catalog
bashcompdir ?= $(prefix)/share/bash-completion/completions
zshcompdir ?= $(prefix)/share/zsh/site-functions
# The binaries to install.
BINARIES ?= .build/release
PROGRAMS = roombridge roomhub roomtail
UNITS = roombridge.service roombridge.socket roombridge@.service roombridge@.socket
PAGES = man1/roombridge.1 man1/roomhub.1 man1/roomtail.1 man5/roombridge.json.5
DOCS = README.md CHANGELOG.md $(wildcard docs/*.md) deploy/config.schema.json deploy/Containerfile

install: ## Installs what `make build` built, units, man pages and completions (DESTDIR, prefix)
	@test -x $(BINARIES)/roombridge || { echo "make install: there is no $(BINARIES)/roombridge, run make build first" >&2; exit 2; }
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(unitdir) $(DESTDIR)$(catalogdir) $(DESTDIR)$(docdir) $(DESTDIR)$(mandir)/man1 \
	    $(DESTDIR)$(mandir)/man5 $(DESTDIR)$(bashcompdir) $(DESTDIR)$(zshcompdir) $(DESTDIR)$(sysconfdir)/roombridge
	install -d -m 0700 $(DESTDIR)$(sysconfdir)/roombridge/credentials
	install -m 0755 $(PROGRAMS:%=$(BINARIES)/%) $(DESTDIR)$(bindir)
	for unit in $(UNITS); do \
	    sed -e 's#/usr/bin/#$(bindir)/#' -e 's#/etc/roombridge/#$(sysconfdir)/roombridge/#' "deploy/$$unit" > "$(DESTDIR)$(unitdir)/$$unit"; \
	    chmod 0644 "$(DESTDIR)$(unitdir)/$$unit"; done
	install -m 0644 deploy/roombridge.catalog $(DESTDIR)$(catalogdir)
	for page in $(PAGES); do install -m 0644 "docs/man/$${page#*/}" "$(DESTDIR)$(mandir)/$$page"; done
	install -m 0644 deploy/completions/roombridge.bash $(DESTDIR)$(bashcompdir)/roombridge
	install -m 0644 deploy/completions/_roombridge $(DESTDIR)$(zshcompdir)
	install -m 0644 $(DOCS) $(DESTDIR)$(docdir)
	cp -R deploy/examples $(DESTDIR)$(docdir)
	install -m 0644 config.example.json $(DESTDIR)$(sysconfdir)/roombridge
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; journalctl --update-catalog; fi

uninstall: ## Removes what `make install` installed; configuration, credentials and state stay
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then \
	    systemctl disable --now roombridge.service roombridge.socket || :; systemctl stop 'roombridge@*' || :; fi
	rm -f $(PROGRAMS:%=$(DESTDIR)$(bindir)/%) $(UNITS:%=$(DESTDIR)$(unitdir)/%) $(PAGES:%=$(DESTDIR)$(mandir)/%) \
	    $(DESTDIR)$(catalogdir)/roombridge.catalog $(DESTDIR)$(bashcompdir)/roombridge $(DESTDIR)$(zshcompdir)/_roombridge \
	    $(DESTDIR)$(sysconfdir)/roombridge/config.example.json
	rm -rf $(DESTDIR)$(docdir)
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; journalctl --update-catalog; fi

deb: ## Builds .build/deb/roombridge_VERSION_ARCH.deb, which needs no Swift on the machine it is for
	@.ci/setup package
	for program in $(PROGRAMS); do $(SWIFT) build $(RELEASE) --scratch-path .build/package \
	    --disable-local-rpath -Xlinker -z -Xlinker now --product $$program; done
	deploy/debian/build-deb .build/package/release .build/deb
	lintian --allow-root --pedantic -E -I --fail-on error,warning,info,pedantic .build/deb/*.deb
