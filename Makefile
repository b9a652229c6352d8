# Each target sets up what it needs. `make` alone lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WHEEL_VENV := .venv-wheel
SOURCES := service papers tests benchmarks migrations docs tools
# Groups of tests (tests/support/markers.py), each a job of the sweep. Those that wait most for
# servers are first, next to unit tests, which never wait.
GROUPS := docs runs unit packs stores cli claims
SWEEPS := $(addprefix sweep-,$(GROUPS))

# The tests start some hundred processes, which would compile each module anew.
unexport PYTHONDONTWRITEBYTECODE

# Python before 3.13 reads the path of an editable installation in the encoding of the locale.
ifneq ($(filter C POSIX,$(LC_ALL)),)
ifneq ($(shell pwd | LC_ALL=C tr -d '\0-\177'),)
$(error with LC_ALL=$(LC_ALL), Python cannot read a path that is not ASCII: run 'export LC_ALL=C.UTF-8' first)
endif
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-alone test-runs test-stores lint prose types types-service sweep $(SWEEPS) coverage \
    mutants test-lts test-lowest campaign wheel-test bench secrets compose-test docs site release-check upload lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "starcast needs Python 3.11 or newer: set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check uv 'pip>=25.1'

# uv installs in a third of pip's time. pip also reads a mirror from its own settings.
INSTALL = $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python $(1) || \
    $(BIN)/pip install --quiet --disable-pip-version-check --no-compile $(1)

# So that the first commands are as fast as later ones, even where PYTHONDONTWRITEBYTECODE is set.
COMPILE = $(BIN)/python -m compileall -q service papers && $(BIN)/python -c 'import starcast.ingest'

# README and tutorial need no more; [all] has four times the size.
DEMO_NEEDS := .[embedded,web]
$(VENV)/.embedded: $(VENV)/bin/uv pyproject.toml
	$(call INSTALL,--editable '$(DEMO_NEEDS)')
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/uv pyproject.toml
	$(call INSTALL,--editable '.[all]' --group dev)
	@$(COMPILE)
	@touch $@ $(VENV)/.embedded

demo: $(VENV)/.embedded ## ingest, query and compare on the embedded servers
	$(BIN)/starcast demo

# Tests with servers wait at times, so one job more runs than there are cores. More jobs displace
# each other's caches: at twice the load, tests took 1.4 times as much processor time.
JOBS ?= $(shell expr 1 + "$$(nproc 2>/dev/null || echo 2)")
SIDE_BY_SIDE := $(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target

test: $(VENV)/.dev ## lint, and the tests with few cases: what CI runs on each Python, in 8 minutes
	@$(SIDE_BY_SIDE) test-runs test-stores test-alone lint types-service

test-runs: $(VENV)/.chromium # on a Neo4j, a PostgreSQL and a browser
	$(BIN)/pytest -m 'runs or cli or docs'

test-stores: $(VENV)/.dev # on a Neo4j and a PostgreSQL of their own
	$(BIN)/pytest -m 'stores or packs'

test-alone: $(VENV)/.simgrid/unpacked # without servers
	$(BIN)/pytest -m 'unit or claims'

lint: $(VENV)/.dev ## ruff, and the types of the scripts
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	tools/script-types

prose: $(VENV)/.dev ## list texts with idioms that are hard to understand: a guide, not a check
	$(BIN)/python tools/prose.py

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

types-service: $(VENV)/.dev
	$(BIN)/mypy service papers

sweep: $(VENV)/.dev ## all sizes, all faults, all pages: before a release, 45 minutes
	@$(SIDE_BY_SIDE) $(SWEEPS) wheel-test types lint

coverage: $(VENV)/.dev ## coverage of the unit tests, as a table and in htmlcov/, with the required minimum
	$(BIN)/pytest --sweep -m unit --cov --cov-report=term --cov-report=html

# With the oldest version of each dependency that pyproject.toml accepts.
test-lowest: $(VENV)/bin/uv ## the tests without servers, with the lowest versions of the dependencies
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/.lowest
	$(BIN)/uv pip install --quiet --system-certs --python $(VENV)/.lowest --resolution lowest-direct \
	    --editable '.[all]' --group dev
	$(VENV)/.lowest/bin/pytest -m 'unit or claims'

# Tests with these are skipped if the package is unavailable; FOLDER/reason states why.
$(VENV)/.simgrid/unpacked: $(VENV)/.dev
	@tests/support/unpack-package $(@D) python3-simgrid /usr/bin/python3 -c 'import simgrid' || true

$(VENV)/.latex/unpacked: $(VENV)/.dev
	@tests/support/unpack-package $(@D) 'texlive-latex-recommended lmodern' pdflatex --version || true

$(VENV)/.pgbouncer/unpacked: $(VENV)/.dev
	@tests/support/unpack-package $(@D) pgbouncer /usr/sbin/pgbouncer --version || true

$(VENV)/.chromium: $(VENV)/.dev
	tests/docs/chromium >$@ || { rm -f $@; exit 1; }

sweep-unit sweep-cli: $(VENV)/.simgrid/unpacked $(VENV)/.latex/unpacked

sweep-runs: $(VENV)/.pgbouncer/unpacked

sweep-docs: $(VENV)/.chromium # README and tutorial as sessions, the site in a browser

$(SWEEPS): sweep-%: $(VENV)/.dev
	$(BIN)/pytest --sweep -m $*

MINUTES ?= 10
campaign: $(VENV)/.dev ## random faults for MINUTES=10, with a journal; SEED=... repeats them
	PYTHONPATH=tests $(BIN)/python -m campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

N ?= 40
MUTANTS_NEED := $(VENV)/.simgrid/unpacked $(VENV)/.pgbouncer/unpacked $(VENV)/.chromium
mutants: $(MUTANTS_NEED) ## does `make test` find N=40 mutations that the sweep finds? SEED=... continues
	$(BIN)/python -m tools.mutants \
	    --mutants $(N) $(if $(JOBS),--jobs $(JOBS)) $(if $(SEED),--seed $(SEED))

test-lts: $(VENV)/.dev ## the query packs on Neo4j 5.26 LTS (needs a Java 17 or 21)
	PYTHONPATH=tests $(BIN)/python -m lts

# For the wheel and its dependencies, without development tools and pip.
$(WHEEL_VENV)/.created: $(VENV)/.dev pyproject.toml
	rm -rf $(WHEEL_VENV)
	$(PYTHON) -m venv --without-pip $(WHEEL_VENV)
	@touch $@

WHEEL_PIP := $(BIN)/pip --python $(WHEEL_VENV)/bin/python --quiet --disable-pip-version-check
wheel-test: $(WHEEL_VENV)/.created ## build the wheel and run the main job from it, outside the checkout
	rm -rf dist build
	$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	$(WHEEL_PIP) install --no-compile --no-deps --force-reinstall dist/*.whl
	$(WHEEL_PIP) install --no-compile 'starcast[embedded,web]'
	tests/wheel/smoke $(abspath $(WHEEL_VENV)/bin/starcast)

$(VENV)/.release/.created: $(VENV)/bin/uv pyproject.toml
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --system-certs --python $(@D) --group release
	@touch $@

release-check: $(VENV)/.release/.created ## build the release twice into dist/, and check it with third-party tools
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(VENV)/.release/bin/python tools/release_check.py

upload: $(VENV)/.release/.created # by the workflow, whose identity the registry trusts
	$(VENV)/.release/bin/pypi-attestations sign dist/*.whl dist/*.tar.gz
	$(VENV)/.release/bin/uv publish --trusted-publishing always dist/*.whl dist/*.tar.gz

bench: $(VENV)/.dev ## measure, and write docs/benchmarks.md: ratios next to other libraries, per version
	$(call INSTALL,--editable . --group bench)
	$(BIN)/python -m benchmarks --page

secrets: ## write passwords for docker compose, once
	@compose/make-secrets

compose-test: ## start the real containers with docker compose (needs root and a network)
	tests/compose/run

docs: $(VENV)/.dev ## recreate the generated pages, and the outputs in README and tutorial
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/sessions.py
	$(BIN)/python docs/notebooks.py

# Sphinx reports warnings about pages that it reads: -E reads all of them. Another home keeps records
# of this user out.
site: $(VENV)/.dev ## build the documentation in site/ and the claims and records in site/results, without a network
	$(BIN)/python -m sphinx -b html -q -W --keep-going -E -j 2 docs site
	STARCAST_HOME=$(abspath site/.home) $(BIN)/starcast publish --check-claims site/results

lock: $(VENV)/.dev ## recreate the lock file of Neo4j's jars
	$(BIN)/python tools/lockfile.py

clean: ## remove everything that the targets create
	rm -rf $(VENV) $(WHEEL_VENV) dist build site htmlcov .coverage .mypy_cache .pytest_cache .ruff_cache \
	    .mutants
