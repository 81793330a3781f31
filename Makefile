# `make demo` runs Veracity on its shipped handbook and samples; `make test` checks everything. Both set up what they need.
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # where that is set, every process would compile all it loads

.PHONY: demo serve test chromium coverage fuzz fuzz-api kills campaign-kill campaign-races bench-conversation-growth bench-server clean

demo: .venv/installed
	$(BIN)/veracity demo

# The page and the API over the shipped handbook.
serve: .venv/installed
	$(BIN)/veracity init .demo > /dev/null
	$(BIN)/veracity ingest src/veracity/handbook --workspace .demo > /dev/null
	$(BIN)/veracity serve --workspace .demo

# Three at a time: much of it waits for browsers and processes. tests/conftest.py says in which order.
PYTEST = $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder
test: .venv/installed-dev chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@echo "mypy, and $(PYTEST) $(TESTS)"
	@$(BIN)/mypy & types=$$!; $(PYTEST) $(TESTS); tests=$$?; wait $$types && exit $$tests

# The tests once more, with what they do not reach; counting lines more than doubles what they take.
coverage: .venv/installed-dev chromium
	$(PYTEST) --cov --cov-report=term

# A long campaign over the configuration loader: 50,000 generated files for each of its properties.
fuzz: .venv/installed-dev
	VERACITY_FUZZ_EXAMPLES=50000 $(BIN)/pytest tests/evaluator/test_configuration_fuzz.py

# The API against its own description: 300 generated requests for each route.
fuzz-api: .venv/installed-dev
	VERACITY_SCHEMA_EXAMPLES=300 $(BIN)/pytest tests/server/test_description.py

# Ingestion is killed at random moments; every document that was reported must be there, once and whole. So are sixteen
# processes that append observations: every finished run's record must be there, once and whole.
kills: .venv/installed-dev
	VERACITY_KILLS=50 $(BIN)/pytest -s tests/knowledge/test_kills.py
	VERACITY_KILLS=120 $(BIN)/pytest -s tests/ledger/test_observations.py -k sixteen

# Processes that ask, wait and decide are killed N times, at every step and at random moments; then nothing may be lost
# or there twice. The same SEED gives the same plan. And N times two processes decide on the same draft at once.
N ?= 1000
SEED ?= 1
campaign-kill: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.kill --kills $(N) --seed $(SEED)

campaign-races: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.races --races $(N) --seed $(SEED)

# What a turn costs in a conversation of 500 turns, and how the files grow with it.
bench-conversation-growth: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.growth

# A hundred askers with live streams for a minute, two who decide, and a restart in the midst of it.
bench-server: .venv/installed-dev
	$(BIN)/python -m benchmarks.server

# The browser tests drive the Chromium of this machine; where there is none, one is installed.
chromium:
	@scripts/install_chromium.sh

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Veracity needs Python 3.11 or newer: make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .demo .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
