# Each target sets up what it needs. `make` alone lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WHEEL_VENV := .venv-wheel
SOURCES := service tests benchmarks migrations docs tools
# Tests of the stores that wait for servers that start and stop are a job of their own; those of the
# graph store go with the packs, which end early.
RUNS := $(wildcard $(addprefix tests/stores/test_, experiments*.py repository.py claim_runs.py offline.py stack*.py database.py))
GRAPH := $(wildcard tests/stores/test_graph_*.py)
QUICK_JAVA := $(VENV)/.java/options

.DEFAULT_GOAL := help
.PHONY: help demo test lint types pytest checks pytest-unit pytest-claims pytest-packs pytest-stores pytest-runs pytest-cli test-lts wheel-test bench compose-test docs lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "starcast needs Python 3.11 or newer: set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.embedded: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.embedded

demo: $(VENV)/.embedded ## run the main job on the embedded default
	$(BIN)/starcast demo

test: lint checks wheel-test ## all that CI runs

lint: $(VENV)/.dev ## ruff, and the check of prose and names
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/python tools/prose.py

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

# Those with servers mostly wait, so more of them at a time than there are cores.
SIDE_BY_SIDE := $(MAKE) --no-print-directory --jobs=6 --output-sync=target
PYTESTS := pytest-unit pytest-runs pytest-stores pytest-packs pytest-cli pytest-claims

pytest: $(VENV)/.dev ## all tests, side by side
	@$(SIDE_BY_SIDE) $(PYTESTS)

checks: $(VENV)/.dev ## mypy and all tests, side by side
	@$(SIDE_BY_SIDE) types $(PYTESTS)

# The servers of the tests start often and live short: what Java compiles for long runs does not pay.
$(QUICK_JAVA): $(VENV)/.dev
	$(BIN)/python tests/support/quick_java.py $(abspath $(@D))

pytest-runs pytest-stores pytest-packs pytest-cli: export STARCAST_NEO4J_JAVA_OPTIONS = $(shell cat $(QUICK_JAVA) 2>/dev/null)

pytest-unit: $(VENV)/.dev ## the tests that need no server
	$(BIN)/pytest tests/unit

pytest-claims: $(VENV)/.dev ## the tests of the ledger's checks, which need none either
	$(BIN)/pytest tests/claims

pytest-packs: $(QUICK_JAVA) ## every query, and the graph store, on a real Neo4j
	$(BIN)/pytest tests/packs $(GRAPH)

pytest-stores: $(QUICK_JAVA) ## ingests into both stores, on a real Neo4j and a real PostgreSQL
	$(BIN)/pytest tests/stores $(addprefix --ignore=, $(RUNS) $(GRAPH))

pytest-runs: $(QUICK_JAVA) ## runs, ledgers, offline imports and the stack itself, on the same
	$(BIN)/pytest $(RUNS)

pytest-cli: $(QUICK_JAVA) ## the command line and all that is left, on the same
	$(BIN)/pytest tests --ignore=tests/unit --ignore=tests/claims --ignore=tests/packs --ignore=tests/stores

test-lts: $(VENV)/.dev ## the queries of the packs on Neo4j 5.26 LTS (a Java 17 or 21, or it says that there is none)
	PYTHONPATH=tests $(BIN)/python -m lts

wheel-test: $(VENV)/.dev ## build the wheel once and run the main job from it, outside the checkout
	rm -rf dist build $(WHEEL_VENV)
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[embedded]"
	tests/wheel/smoke $(abspath $(WHEEL_VENV)/bin/starcast)

bench: $(VENV)/.dev ## the figures of benchmarks/, as ratios in one run
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks

compose-test: ## docker compose up, for real (root and a network, or it says why not)
	tests/compose/run

docs: $(VENV)/.dev ## write the generated pages again
	$(BIN)/python docs/generate.py

lock: $(VENV)/.dev ## write the lock file of Neo4j's jars again
	$(BIN)/python -m starcast.embedded.lockfile

clean: ## remove what the targets made
	rm -rf $(VENV) $(WHEEL_VENV) dist build .mypy_cache .pytest_cache .ruff_cache
