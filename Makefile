# Every target sets up what it needs; on Debian as root (or with sudo) nothing has to be installed by hand but Rust.
CARGO ?= cargo

.PHONY: help setup demo test reach soak lint deny bench fuzz docs ci clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what is missing: zstd, MariaDB 10.11 (system), MySQL 9.7, MariaDB 11.8, Galera, moto and PyMySQL (.servers/)
	@scripts/setup

demo: setup ## Dump, restore and verify a sample shop on private servers
	@scripts/demo

test: setup ## Run every test, on both vendors' servers
	@scripts/test

reach: setup ## Try every source, target and feature on all twelve servers, upgrade over several, and write docs/servers.md
	$(CARGO) build
	tests/reach/run --write
	tests/reach/chains

soak: setup reach ## Storms for an hour (SOAK_MINUTES), and all of reach
	@scripts/soak

lint: ## Formatting, clippy with warnings denied, and the layout: who needs whom, and how long files and functions are
	$(CARGO) fmt --all --check
	$(CARGO) clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --document-private-items --quiet
	scripts/layers

deny: ## Licences, sources and duplicates of dependencies
	@command -v cargo-deny >/dev/null || $(CARGO) install cargo-deny --locked
	$(CARGO) deny check licenses bans sources

bench: ## Compare with bare readers and with peers; results go to benchmarks/results
	@scripts/setup bench
	$(CARGO) build --release
	$(CARGO) build --release -p drover-queue --examples
	benchmarks/dump --peers --shape all; dump=$$?; benchmarks/restore --peers; restore=$$?; \
	benchmarks/foreign; foreign=$$?; benchmarks/binlog; binlog=$$?; benchmarks/cost; cost=$$?; benchmarks/chunk; chunk=$$?; \
	benchmarks/queue; queue=$$?; \
	benchmarks/tpcc; tpcc=$$?; benchmarks/disk; disk=$$?; benchmarks/findings; findings=$$?; \
	benchmarks/advisors; advisors=$$?; benchmarks/hosts; hosts=$$?; \
	benchmarks/files; files=$$?; \
	benchmarks/ways && benchmarks/cases && [ $$dump$$restore$$foreign$$binlog$$cost$$chunk$$queue$$tpcc$$disk$$findings$$advisors$$hosts$$files = 0000000000000 ]

fuzz: ## Run each fuzz target for a minute
	@scripts/fuzz

docs: ## The crates' documentation
	$(CARGO) doc --no-deps --open

ci: ## What continuous integration runs
	.ci/run

clean: ## Remove what was built
	$(CARGO) clean
