# mikan: everything that can be done here. "make run" and "make test" are enough
# to begin with.

export GOFLAGS = -trimpath -buildvcs=false
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
STATIC  := CGO_ENABLED=0
PREFIX  ?= /usr/local
MANPAGES := $(wildcard man/*.[1-8])

.PHONY: all setup build run test test-long test-contract test-double test-mcp test-stress test-v9fs fuzz fuzz-smoke bench bench-smoke lint install clean

all: build

# What a fresh Debian lacks. It asks for nothing where all is there.
setup:
	@scripts/setup

build:
	$(STATIC) go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# A daemon of your own in ./.run, with the built-in demo model.
run: build
	@scripts/run

test: setup
	CGO_ENABLED=1 go test -race -skip '$(HEAVY)|$(LAWS)' -ldflags '$(LDFLAGS)' ./...
	$(STATIC) MIKAN_LONG_TURNS=150 go test -run '$(HEAVY)' ./runtime ./harness/mcp ./harness/modeltest ./harness/picture
	$(STATIC) go test -run '$(LAWS)' ./runtime/v3 -rapid.checks=1000

# What takes long under the race detector is run without it: a long session, much
# data, and the laws of histories, which are drawn very often.
HEAVY = ^TestLongLife$$|^TestAddedTool_all_together|^TestFault_P4_oddAnswers|^TestFault_H6_(request|a_refused|images_of_any)
LAWS  = ^TestInvariant_transcripts_

test-long: setup
	$(STATIC) go test -timeout 0 -run '$(LAWS)' ./runtime/v3 -rapid.checks=$(or $(CASES),100000)
	$(STATIC) MIKAN_LONG_TURNS=$(or $(TURNS),3000) go test -timeout 1h -run '^TestLongLife$$' -v ./runtime

# One contract between parts, by its name in the tests: platform_intake,
# session_identity, run_output, harness_tools, executor_transport.
ROW ?=
test-contract:
	CGO_ENABLED=1 go test -race -run '^TestContract_$(ROW)' ./...

# The model providers against a server that others wrote; it needs npm.
test-double:
	@scripts/test-double

# Our client of MCP servers against the protocol's own suite; it needs npm.
test-mcp:
	@scripts/test-mcp

# The file server again and again, on one processor and on two.
test-stress: setup
	CGO_ENABLED=1 go test -race -count=$(or $(COUNT),3) -cpu 1,2 ./fs/...

# The 9P client of the Linux kernel, in a virtual machine.
test-v9fs: build
	@scripts/test-v9fs

# All fuzz targets, FUZZTIME each; FUZZ chooses some by name.
fuzz:
	@scripts/fuzz

fuzz-smoke:
	@FUZZTIME=10s FUZZ='^FuzzFrame$$' scripts/fuzz

# The performance budget: mikan beside its peers, as a table.
bench: build
	@cd bench && $(STATIC) go run . -mikan ../bin/mikan

bench-smoke: build
	@cd bench && $(STATIC) go run . -mikan ../bin/mikan -smoke

lint: setup
	@scripts/lint

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/* $(DESTDIR)$(PREFIX)/bin
	for p in $(MANPAGES); do \
		install -d $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}; \
		install -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}; \
	done
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	bin/mikan completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/mikan
	bin/mikan completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mikan
	bin/mikan completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mikan.fish

clean:
	rm -rf bin
