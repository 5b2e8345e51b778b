# The front door of RoomBridge. `make help` lists what it can do.
.DEFAULT_GOAL := help
.PHONY: help setup build test check fmt demo bench soak sanitize install uninstall deb

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
SWIFT ?= swift
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
	$(SWIFT) build -c release --static-swift-stdlib --product roombridge
	$(SWIFT) build -c release --static-swift-stdlib --product roomhub
	$(SWIFT) build -c release --static-swift-stdlib --product roomtail

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
	$(SWIFT) build -c release --static-swift-stdlib
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

install uninstall deb: ## Not in this version
	@echo "make $@: this verb has not come yet (see CHANGELOG.md for what is there)" >&2; exit 2
