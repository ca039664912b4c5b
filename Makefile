# All set-up is done by the targets themselves: python3 (3.11 or later), pip and make are enough.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
READY := .venv/.ready
PYTEST_ARGS ?=
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help ready demo test test-slow fuzz soak test-lowest dist coverage weka browser check format format-check lint types layers paper table1 table2 accuracy assumptions figure1 figure2 bench docs hooks lock clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(if $(wildcard $(READY)),$(READY),$(CORE))  ## the paper's parity problem on two workers; FULL=1 for the paper's size
	$(BIN)/pydaub demo $(if $(FULL),--full)

ready: $(READY) weka browser

test: ready  ## every test that is not slow by nature, doctests and documentation included
	$(BIN)/pytest -n auto --dist worksteal $(PYTEST_ARGS)

# Ray and a JVM crash in one process, and tests that limit memory need a process of their own, so these two kinds run
# apart, beside the others. Their output follows at the end.
BESIDE := ray memory
SLOW := $(BIN)/pytest -o testpaths=tests --hypothesis-profile thorough --dist worksteal
test-slow: ready  ## the tests that are slow by nature; KIND=ray for one kind, KIND=random also for more random cases
	@if [ -n "$(KIND)" ]; then \
	  set -x; $(SLOW) --slow $(KIND) -n $(if $(filter ray memory cluster,$(KIND)),0,auto) $(PYTEST_ARGS); \
	else \
	  mkdir -p build; status=0; beside=""; \
	  for kind in $(BESIDE); do $(SLOW) --slow $$kind -n 0 $(PYTEST_ARGS) >build/$$kind.log 2>&1 & beside="$$beside $$!"; done; \
	  $(SLOW) --slow weka,browser,processes,random -n auto $(PYTEST_ARGS) || status=1; \
	  for each in $$beside; do wait $$each || status=1; done; \
	  for kind in $(BESIDE); do cat build/$$kind.log; done; exit $$status; \
	fi

# Each pass draws other cases. It stops at the first that fails, and prints how to see it again.
MINUTES ?= 10
fuzz: ready  ## odd files, options, folders, requests, orders, kills and faults, for MINUTES=10 or longer
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); \
	while [ $$(date +%s) -lt $$end ]; do \
	  $(BIN)/pytest -q --slow random --hypothesis-profile long -n auto tests/fuzz $(PYTEST_ARGS) && $(BIN)/python tests/injection.py --drawn 3 --workers 2 || exit 1; \
	done

soak: $(READY)  ## many runs, after each other and at once, with kills: does anything pile up? MINUTES=60, RUNS=200, AT_ONCE=20
	$(BIN)/python tests/soak.py --minutes $(if $(filter file,$(origin MINUTES)),60,$(MINUTES)) --runs $(or $(RUNS),200) --at-once $(or $(AT_ONCE),20)

# Old versions warn about their newer dependencies, so warnings are no errors here. Ray and WEKA are left out.
LOWEST := .venv-lowest/bin/python
test-lowest:  ## the tests with the lowest versions that pyproject.toml allows (needs uv)
	uv venv -q --clear --python $(PYTHON) .venv-lowest
	uv pip install -q --python $(LOWEST) --resolution lowest-direct -r pyproject.toml --extra boost --extra dashboard --extra plot --extra rules --extra spaces \
	  $$(grep -oE '^(editables|hatchling|httpx|hypothesis|jsonschema|polars|pytest|pytest-xdist)==[^ ]*' requirements.lock)
	uv pip install -q --python $(LOWEST) --no-deps --no-build-isolation -e .
	$(LOWEST) -m pytest -n auto -o filterwarnings=default --disable-warnings --doctest-ignore-import-errors --ignore tests/learners/weka --ignore tests/lcdb $(PYTEST_ARGS)

dist: $(READY)  ## sdist and wheel in dist/, tried on each Python that is there, with new and old dependencies (needs uv)
	$(BIN)/python release/dist.py

coverage: ready  ## the lines that `make test` does not run
	$(BIN)/pytest -n auto --dist worksteal --cov=src --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

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

# The page's JavaScript, CSS and HTML. Prettier needs Node.js, which nothing else here needs.
PRETTIER := npx --yes prettier@3.9.10 --print-width 120
define prettier
@if ! command -v npx >/dev/null 2>&1; then echo "prettier skipped: it needs npx, which comes with Node.js"; \
elif ! $(PRETTIER) --version >/dev/null 2>&1; then echo "prettier skipped: npx could not download it"; \
else set -x; $(PRETTIER) $(1) src/pydaub/dashboard/static; fi
endef

format-check: $(READY)
	$(BIN)/ruff format --check .
	$(call prettier,--check)

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

format: $(READY)  ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(call prettier,--write)

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

# Tutorials are run, unless they are as they were: `rm -r build/docs-cache` runs all of them again.
docs: $(READY)  ## the documentation as a site in build/docs; runs the tutorials
	$(BIN)/sphinx-build -W --keep-going --quiet -c docs -d build/docs-cache/doctrees . build/docs
	$(BIN)/python docs/links.py build/docs
	@echo "The site is build/docs/index.html."

hooks: $(READY)  ## run the checks before every commit
	$(BIN)/pre-commit install

# The demo's lock holds the same versions as the other.
COMPILE := uv pip compile pyproject.toml --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: pyproject.toml  ## write requirements.lock and requirements-demo.lock anew (needs uv)
	$(COMPILE) --extra dev --upgrade -o requirements.lock
	$(COMPILE) --extra build --upgrade --constraint requirements.lock -o requirements-demo.lock

# Install a lock file and pydaub itself into .venv. Uses uv where it is on the PATH, since it is ten times faster; else
# the environment's own pip, or, where Python came without ensurepip, the pip that is outside of it. Nothing is compiled
# beforehand: Python compiles what it imports.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pydaub needs Python 3.11 or later: make PYTHON=python3.12 ..." >&2; exit 1; }
@set -e; \
if command -v uv >/dev/null 2>&1; then create="uv venv -q --python $(PYTHON)"; install="uv pip install -q --python $(BIN)/python"; \
elif $(PYTHON) -c 'import ensurepip' 2>/dev/null; then create="$(PYTHON) -m venv"; install="$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check"; \
else create="$(PYTHON) -m venv --without-pip"; install="$(PYTHON) -m pip --python $(BIN)/python install -q --no-compile"; fi; \
set -x; [ -x $(BIN)/python ] || $$create .venv; \
$$install --require-hashes -r $(1); $$install --no-deps --no-build-isolation -e .
touch $@
endef

# The environment has two stages: what the demo needs, and everything. The second adds to the first.
$(CORE): requirements-demo.lock pyproject.toml
	rm -rf .venv
	$(call install,requirements-demo.lock)

$(READY): requirements.lock pyproject.toml
	@[ -e $(CORE) ] && [ ! -e $@ ] || rm -rf .venv
	$(call install,requirements.lock)

clean:
	rm -rf .venv .venv-lowest .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
