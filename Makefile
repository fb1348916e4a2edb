# Fencepost. Python 3.11 to 3.13, git and make are all you need; uv is used if installed.
# Everything it makes is in .venv and .cache.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
ARGS    ?=
EPOCHS  ?= 10000
WORKERS ?= auto
SEEDS   ?= 10000
BASE    ?=
FIRST   ?= 0
MINUTES ?= inf
PYTEST  := $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses=4 --dist=loadgroup

FITS    := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON  ?= python3.12 python3.13 python3.11 python3 python

# pip prints a line for each package it fetches: show every 30th, and when it starts unpacking.
HOW_FAR := /^Collecting / && ++n % 30 == 0 { print "  " n " packages fetched"; fflush() } \
  /^Installing / { print "  " n " packages fetched; unpacking them"; fflush() }

.PHONY: help setup check lint format test test-all test-cluster soak bench-engine bench-lake bench-matches bench-joins bench-regions bench-cluster figures peers peers-extras bench-guard trace simulate mutants demo dev docs images release lock clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv and what Spark needs (other targets do this by themselves)

# A name on the PATH may be a shim that fails, so each Python is run, not just looked up.
$(READY): requirements.lock pyproject.toml
	@set -e; \
	for p in $(PYTHON); do \
	  if "$$p" -c '$(FITS)' >/dev/null 2>&1; then python=$$p; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "Fencepost needs Python 3.11, 3.12 or 3.13, but found none of: $(PYTHON)." >&2; \
	  echo "Install one, or name yours: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	if uv --version >/dev/null 2>&1; then \
	  $(BIN)/python -c '$(FITS)' >/dev/null 2>&1 || uv venv -q --clear --python "$$python" $(VENV); \
	  with=uv; install="uv pip install -q --python $(BIN)/python"; \
	else \
	  if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	    echo "$$python has no venv: install it (Debian, Ubuntu: apt install python3-venv) or install uv." >&2; \
	    exit 1; \
	  fi; \
	  { $(BIN)/python -c '$(FITS)' && $(BIN)/python -m pip --version; } >/dev/null 2>&1 \
	    || "$$python" -m venv --clear $(VENV); \
	  with=pip; install="$(BIN)/python -m pip install --disable-pip-version-check"; \
	fi; \
	echo "setting up $(VENV): $$($(BIN)/python --version), $$(grep -c == requirements.lock) packages by $$with"; \
	rm -f $(VENV)/.failed; \
	{ $$install --no-deps --require-hashes -r requirements.lock || touch $(VENV)/.failed; } | awk '$(HOW_FAR)'; \
	if [ -e $(VENV)/.failed ]; then exit 1; fi; \
	$$install -q --no-deps --no-build-isolation -e .; \
	$(BIN)/python -m pipelines.spark.environment
	@touch $@

check: lint test  ## what every change must pass: lint, then test

lint: $(READY)  ## ruff, mypy strict, import rules
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

format: $(READY)  ## format the code and apply ruff's fixes
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

test: $(READY)  ## the short set of tests (ARGS="-k walk" to choose, WORKERS=0 for one process)
	$(PYTEST) $(ARGS)

ifeq ($(ARGS),)
test-all: $(READY)  ## every test: the short set, the long set, the mutants; each part prints its figures
	@echo "1 of 3  the short set: what make test runs, on more examples"
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-long} $(PYTEST)
	@echo "2 of 3  the long set: kills, seeds, soaks, failing system calls, old lakes, Spark, Dagster, UI"
	$(PYTEST) -m slow
	@echo "3 of 3  mutants: the kernels broken one sign at a time"
	$(BIN)/python -m tests.mutants
else
test-all: $(READY)
	$(PYTEST) -m "" $(ARGS)
endif

test-cluster: $(READY)  ## standalone clusters, a Connect server and an S3 on loopback: same rows, whatever is killed
	$(BIN)/python -m pytest -q -n 2 --dist=loadgroup -m cluster tests/cluster $(ARGS)

soak: $(READY)  ## age one lake in one process: EPOCHS runs (10000), each an epoch of three lanes
	FENCEPOST_SOAK=$(EPOCHS) $(PYTEST) -n0 -s -m "" tests/e2e/test_age.py -k it_cost $(ARGS)

bench-engine: $(READY)  ## the engine's benchmarks, each line with its ratio
	$(BIN)/python -m benchmarks.engine $(ARGS)

bench-lake: $(READY)  ## the lake's benchmarks
	$(BIN)/python -m benchmarks.lake $(ARGS)

bench-matches: $(READY)  ## the benchmarks of matches, against the papers' rivals and today's
	$(BIN)/python -m benchmarks.matches $(ARGS)

bench-joins: $(READY)  ## the benchmarks of joins, against the papers' rivals and today's
	$(BIN)/python -m benchmarks.joins $(ARGS)

bench-regions: $(READY)  ## the benchmarks of regions, against shapely, DuckDB's spatial extension and Tile38 (where they are)
	$(BIN)/python -m benchmarks.regions $(ARGS)

bench-cluster: $(READY)  ## two workers against two threads, S3 against a folder, a commit against a put (needs versitygw or Go)
	$(BIN)/python -m benchmarks.cluster $(ARGS)

peers: $(READY)  ## the engine and the lake beside Spark SQL, DuckDB, Polars, shapely, Tile38 and others, each in its best form
	$(BIN)/python -m benchmarks.peers $(ARGS)

peers-extras: $(READY)  ## Sedona and Flink SQL for make peers, in environments of their own (1.7 GB)
	$(BIN)/python -m benchmarks.peers.apart

figures: $(READY)  ## the papers' figures, measured again beside their rivals; goes on where it was interrupted
	$(BIN)/python -m benchmarks.figures $(ARGS)

bench-guard: $(READY)  ## has a benchmark lost a quarter? against committed figures, or BASE=main ARGS="engine:default --rounds 5"
	$(BIN)/python -m benchmarks.guard $(if $(BASE),--base $(BASE)) $(ARGS)

trace: $(READY)  ## how many files and rooms lie on the way of a row, a rule, a question
	$(BIN)/python -m tests.support.trace $(ARGS)

simulate: $(READY)  ## many seeds of the simulated lake (SEEDS=1000000 MINUTES=60: start none after that)
	$(BIN)/python -m tests.simulated $(FIRST)-$$(($(FIRST) + $(SEEDS) - 1)) --minutes $(MINUTES)

mutants: $(READY)  ## break the kernels one sign at a time: do the tests notice? (MINUTES=10: then the next run goes on)
	$(BIN)/python -m tests.mutants --minutes $(MINUTES) $(ARGS)

demo: $(READY)  ## a day of ticks and vehicles, from nothing to crossings on a map
	@$(BIN)/python -m examples.demo $(ARGS)

dev: $(READY)  ## Dagster's UI on this folder, at http://127.0.0.1:3000 (ARGS="--port 3100")
	@$(BIN)/fencepost init >/dev/null
	@$(BIN)/fencepost ui $(ARGS)

docs: $(READY)  ## write docs/configuration.md, cli.md, api.md and reliability.md from what they describe
	$(BIN)/python -m pipelines.cli.handbook
	$(BIN)/python -m tests.faults.page

images: $(READY)  ## retake the screenshots of the docs (needs chromium)
	$(BIN)/python docs/images.py $(ARGS)

release: $(READY)  ## build the wheel and the sdist into dist/ and check both
	$(BIN)/python -m tests.release $(ARGS)

lock:  ## resolve versions again within pyproject.toml (needs uv; ARGS=--upgrade for the newest)
	@uv --version >/dev/null 2>&1 || { echo "make lock needs uv; setup and tests do not." >&2; exit 1; }
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --group dev --all-extras \
	  --custom-compile-command "make lock" -o requirements.lock $(ARGS) pyproject.toml

clean:  ## delete what make made, but not the lake, its files or Dagster's history
	rm -rf $(VENV) .cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
