# `make demo` runs Veracity on the bundled handbook and samples; `make test` runs all checks. Both install what they need.
PYTHON ?= python3
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # with it, every process would compile all its modules

.PHONY: demo serve test prepare-tests page-types chromium coverage fuzz fuzz-properties fuzz-api kills campaign-kill campaign-races campaign-races-postgres campaign-partition campaign-servers campaign-cluster campaign-experiments campaign-object-store s3rver test-postgres bench-ledger bench-scale bench-conversation-growth bench-server clean

demo: .venv/installed
	$(BIN)/veracity demo

# Serves the page and the API with the bundled handbook.
serve: .venv/installed
	$(BIN)/veracity init .demo > /dev/null
	$(BIN)/veracity ingest src/veracity/handbook --workspace .demo > /dev/null
	$(BIN)/veracity serve --workspace .demo

# Four workers, because many tests wait for browsers and processes. tests/conftest.py sets the order.
# Without COMPILE_TESTS, every worker would compile all test files.
COMPILE_TESTS = $(BIN)/pytest --collect-only $(TESTS) > /dev/null
PYTEST = $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder
test:
	@$(MAKE) --no-print-directory -j 3 prepare-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@echo "mypy, and $(PYTEST) $(TESTS)"
	@$(BIN)/mypy & types=$$!; $(COMPILE_TESTS); $(PYTEST) $(TESTS); tests=$$?; wait $$types && exit $$tests

prepare-tests: .venv/installed-dev .venv-moto/installed chromium page-types

# Runs the tests with coverage, which more than doubles their time.
coverage: .venv/installed-dev chromium
	$(PYTEST) --cov --cov-report=term

# Fuzzes the configuration loader: 50,000 generated files for each property.
fuzz: .venv/installed-dev
	VERACITY_FUZZ_EXAMPLES=50000 $(BIN)/pytest tests/evaluator/test_config_fuzz.py

# Checks every property test with 2,000 new examples. `make test` uses the same 60 each time.
EXAMPLES ?= 2000
fuzz-properties: .venv/installed-dev
	VERACITY_PROPERTY_EXAMPLES=$(EXAMPLES) $(PYTEST) -m hypothesis tests

# Fuzzes the API against its OpenAPI schema: 300 generated requests for each route.
fuzz-api: .venv/installed-dev
	VERACITY_SCHEMA_EXAMPLES=300 $(BIN)/pytest tests/server/test_description.py

# Kills ingestion at random moments: every reported document must exist once and be complete. Also kills sixteen processes
# that append observations: the record of every finished run must exist once and be complete.
kills: .venv/installed-dev
	VERACITY_KILLS=50 $(BIN)/pytest -s tests/knowledge/test_kills.py
	VERACITY_KILLS=120 $(BIN)/pytest -s tests/ledger/test_observations.py -k sixteen

# campaign-kill kills processes that ask and decide N times, at every step and at random moments: nothing may be lost or
# duplicated. The same SEED gives the same plan. campaign-races lets two processes decide on the same draft N times.
N ?= 1000
SEED ?= 1
campaign-kill: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.kill --kills $(N) --seed $(SEED)

campaign-races: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.races --races $(N) --seed $(SEED)

# Kills a 500-case experiment 50 times: every case must end once.
campaign-experiments: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.experiment_kills --seed $(SEED)

campaign-races-postgres: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.races --races $(N) --seed $(SEED) --postgres

# The tests of ledger and runs with the ledger in Postgres. `make test` runs those that depend on the engine on both.
test-postgres: .venv/installed-dev
	TEST_ENGINE=postgres $(PYTEST) tests/ledger tests/runs

# Kills servers and workers that share a Postgres N times: nothing may be lost or repeated.
campaign-cluster: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.cluster kill --kills $(N) --seed $(SEED)

# Cuts a process off from Postgres CUTS times while it writes: another one must take its run over within 10 s.
CUTS ?= 10
campaign-partition: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.partition --cuts $(CUTS)

# Measures writes and checkpoints per second in SQLite and Postgres.
bench-ledger: .venv/installed-dev
	$(BIN)/python -m benchmarks.ledger_writes

# Measures the throughput of one, two and four workers.
bench-scale: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.cluster scale

# Asks through model servers that misbehave in every way: every run must end in time, with a true status.
campaign-servers: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.servers

# Kills N of four writers at requests of their commits to an object store (moto): nothing may be lost or stored twice.
campaign-object-store: .venv/installed-dev .venv-moto/installed
	$(BIN)/python -m benchmarks.campaigns.object_store --kills $(N) --seed $(SEED)

# Measures the time per turn and the file sizes in a conversation of 500 turns.
bench-conversation-growth: .venv/installed-dev
	$(BIN)/python -m benchmarks.campaigns.growth

# Measures the server with a hundred askers and two approvers for a minute, then with a restart.
bench-server: .venv/installed-dev
	$(BIN)/python -m benchmarks.server

# Checks the types of the page's JavaScript. TypeScript, and axe-core for the tests, come from npm, in the versions of
# package-lock.json.
page-types:
	@if command -v npm > /dev/null; then $(MAKE) -s node_modules/.package-lock.json && node_modules/.bin/tsc --project tsconfig.json; \
	else echo "The types of the page were not checked: install Node.js and npm."; fi

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

# The browser tests use the installed Chromium; without it, one is installed.
chromium: | .venv/installed-dev  # whose Playwright installs one, if the system has no package
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

# An S3 server for tests, in an environment of its own: its dependencies clash with LanceDB's.
.venv-moto/installed: constraints-moto.txt
	$(PYTHON) -m venv .venv-moto
	.venv-moto/bin/python -m pip install --no-compile --quiet --disable-pip-version-check -r constraints-moto.txt
	touch $@

# An S3 server that ignores conditional puts. A test checks that Veracity refuses it, and is skipped without the server.
s3rver:
	npm install --silent --no-audit --no-fund --prefix .s3rver s3rver@3.7.1

clean:
	rm -rf .venv .venv-moto .s3rver node_modules .demo .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
