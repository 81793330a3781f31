"""No test can reach a provider: the environment holds no key, and connections to other machines are blocked."""

import gc
import io
import os

os.environ["COLUMNS"] = "100"  # before the console is created
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.commands import Ran, Run
from tests.loopback import LoopbackServer
from tests.postgres import URL_VARIABLE, shared_url, stop_shared, use_postgres
from tests.waiting import PATIENT
from veracity.cli import main
from veracity.ledger.backend import open_backend
from veracity.runs.factory import open_checkpoints
from veracity.settings import ALIASES, PREFIX
from veracity.settings.servers import PROVIDERS
from veracity.testing import offline

# Tests create much and little of it is garbage: with Python's 700, looking for it takes a twentieth of their time.
gc.set_threshold(20_000)

# No test fails because a machine is slow, and every run has the same examples. `make fuzz-properties` draws new ones.
EXAMPLES = os.environ.get("VERACITY_PROPERTY_EXAMPLES", "")
hypothesis.settings.register_profile(
    "tests", deadline=None, max_examples=int(EXAMPLES or 60), derandomize=not EXAMPLES, print_blob=True
)
hypothesis.settings.load_profile("tests")

SLOW = (
    "tests/server/",
    "tests/cli/",
    "tests/runs/",
    "tests/uploads/",
    "tests/knowledge/",
    "tests/cluster/",
    "tests/transfer/",
)
SHOW_SETTINGS = ("tests/settings/", "tests/cli/commands/test_doctor.py", "tests/test_documents.py")


# Locks, transactions, forgetting: what SQL means is the same elsewhere, and `make test-postgres` runs the rest, too.
ON_BOTH_ENGINES = (
    "tests/ledger/test_",
    "tests/ledger/rows/test_approvals",
    "tests/ledger/rows/test_conversations",
    "tests/ledger/rows/test_users",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "both_engines: runs with the ledger in SQLite and in Postgres")
    config.addinivalue_line("markers", "only_sqlite: is about SQLite or its files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of what depends on the engine run on both. TEST_ENGINE=postgres runs all tests on Postgres."""
    is_bound = metafunc.definition.get_closest_marker("only_sqlite") is not None
    is_for_both = metafunc.definition.get_closest_marker("both_engines") is not None
    if os.environ.get("TEST_ENGINE") == "postgres" and not is_bound:
        metafunc.parametrize("ledger_engine", ["postgres"], indirect=True)
    elif not is_bound and (is_for_both or metafunc.definition.nodeid.startswith(ON_BOTH_ENGINES)):
        metafunc.parametrize("ledger_engine", ["sqlite", "postgres"], indirect=True)


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and collected tests stay until the end


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        factory: pytest.TempPathFactory | None = getattr(session.config, "_tmp_path_factory", None)
        if factory is not None:
            stop_shared(factory.getbasetemp())


@pytest.fixture(autouse=True)
def ledger_engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    engine: str = getattr(request, "param", "sqlite")
    opened: list[Any] = []
    if engine == "postgres":
        url = shared_url(tmp_path_factory)
        monkeypatch.setenv(URL_VARIABLE, url)
        monkeypatch.setattr("veracity.ledger.ledger.open_backend", open_backend)  # undone after the test
        monkeypatch.setattr("veracity.runs.runner.open_checkpoints", open_checkpoints)
        use_postgres(url, opened)
    yield engine
    for part in opened:
        part.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that quick ones fill the gaps at the end of a parallel run."""
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))


@pytest.fixture(scope="session", autouse=True)
def block_network() -> Iterator[None]:
    with offline():
        yield


@pytest.fixture(autouse=True)
def clean_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove the developer's keys and settings, and change to a directory that is not a workspace."""
    for names in PROVIDERS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.upper().startswith(PREFIX) or name in ALIASES.values()]:
        monkeypatch.delenv(name)
    if not request.node.nodeid.startswith(SHOW_SETTINGS):
        for section, deadlines in PATIENT.items():
            for key, seconds in deadlines.items():
                monkeypatch.setenv(f"{PREFIX}{section}__{key}".upper(), str(seconds))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """An OpenAI-compatible server; its models are named `openai-chat:anything`."""
    with LoopbackServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "configs").mkdir(parents=True)
    (root / "metrics").mkdir()
    return root


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("evaluate", …, stdin=b"…")` returns the exit code and the output."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["veracity", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as exit_info:
            main()
        code = exit_info.value.code
        return Ran(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
