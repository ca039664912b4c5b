# All set-up is done by the targets themselves: python3 (3.11 or later), pip and make are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST_ARGS ?=
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-ray weka browser check format format-check lint types layers paper table1 table2 accuracy assumptions figure1 figure2 bench hooks lock clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(READY)  ## the paper's parity problem on two workers; FULL=1 for the paper's size
	$(BIN)/pydaub demo $(if $(FULL),--full)

test: $(READY) weka browser  ## every test, doctests and documentation included
	$(BIN)/pytest -n auto $(PYTEST_ARGS)

test-ray: $(READY)  ## the tests of Ray, on a real cluster of several nodes on this machine: some minutes
	PYDAUB_RAY_TESTS=1 $(BIN)/pytest -k ray tests/engines/test_ray.py tests/contracts/test_engines.py $(PYTEST_ARGS)

# Java and WEKA, which its tests need. Only root installs them unasked: on a person's machine, or where it fails, those
# tests are skipped and say what to do.
weka:
	@if [ ! -e /usr/share/java/weka.jar ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  export DEBIAN_FRONTEND=noninteractive; install="timeout 600 apt-get install -qq -y --no-install-recommends weka"; \
	  $$install >/dev/null 2>&1 || { timeout 120 apt-get update -qq >/dev/null 2>&1; $$install >/dev/null; } \
	  || echo "WEKA could not be installed: the tests that need it will be skipped."; \
	fi

# The browser that the tests of the live page drive; the same holds for it.
browser:
	@if ! command -v chromium >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  export DEBIAN_FRONTEND=noninteractive; install="timeout 600 apt-get install -qq -y --no-install-recommends chromium"; \
	  $$install >/dev/null 2>&1 || { timeout 120 apt-get update -qq >/dev/null 2>&1; $$install >/dev/null; } \
	  || echo "Chromium could not be installed: the tests that need it will be skipped."; \
	fi

check: format-check lint types layers test  ## what a change must pass, in this order

format-check: $(READY)
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

format: $(READY)  ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

paper: $(READY) weka  ## the paper's experiments: the small version anew, and docs/results.md; LARGE=1 for the paper's sizes
	$(BIN)/python experiments/paper.py $(if $(LARGE),--large --yes)
	$(BIN)/python experiments/results.py

# Each part of it alone, from the curves that were measured.
table1 table2 accuracy assumptions: $(READY)
	@$(BIN)/python experiments/$@.py

figure1 figure2: $(READY)
	@$(BIN)/python experiments/$@.py --out build/paper/figures

bench: $(READY)  ## figures, not tests; takes some minutes
	$(BIN)/python benchmarks/prefetch.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/memory.py

hooks: $(READY)  ## run the checks before every commit
	$(BIN)/pre-commit install

lock: pyproject.toml  ## write requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade -o requirements.lock

# Uses uv where it is on the PATH, since it is ten times faster; else the environment's own pip, or, where
# Python came without ensurepip, the pip that is outside of it.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pydaub needs Python 3.11 or later: make PYTHON=python3.12 ..." >&2; exit 1; }
	rm -rf .venv
	@if command -v uv >/dev/null 2>&1; then \
	  set -x; uv venv -q --python $(PYTHON) .venv && uv pip install -q --python $(BIN)/python --require-hashes -r requirements.lock && uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	elif $(PYTHON) -c 'import ensurepip' 2>/dev/null; then \
	  set -x; $(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock && $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	else \
	  set -x; $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python $(BIN)/python install -q --require-hashes -r requirements.lock && $(PYTHON) -m pip --python $(BIN)/python install -q --no-deps --no-build-isolation -e .; \
	fi
	touch $@

clean:
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
