# `make demo` runs Veracity on its shipped handbook and samples; `make test` checks everything. Both set up what they need.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fuzz kills clean

demo: .venv/installed
	$(BIN)/veracity demo

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --cov --cov-report=term

# A long campaign over the configuration loader: 50,000 generated files for each of its properties.
fuzz: .venv/installed-dev
	VERACITY_FUZZ_EXAMPLES=50000 $(BIN)/pytest tests/evaluator/test_configuration_fuzz.py

# Ingestion is killed at random moments; every document that was reported must be there, once and whole. So are sixteen
# processes that append observations: every finished run's record must be there, once and whole.
kills: .venv/installed-dev
	VERACITY_KILLS=50 $(BIN)/pytest -s tests/knowledge/test_kills.py
	VERACITY_KILLS=120 $(BIN)/pytest -s tests/ledger/test_observations.py -k sixteen

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Veracity needs Python 3.11 or newer: make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
