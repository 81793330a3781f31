"""/healthz says that the process is alive, /readyz whether it can work; neither needs a token."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.conftest import MakeEngine, Serve, Served
from veracity.engine import Veracity
from veracity.maintenance import Maintenance
from veracity.server import health
from veracity.settings import Settings

PARTS = ["ledger", "knowledge", "disk", "server"]
Break = Callable[[Served], object]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check of a process loads libraries, which takes its time on a busy machine."""
    monkeypatch.setattr(health, "CHECK_SECONDS", 60.0)


def ready(served: Served) -> tuple[int, list[str], list[str]]:
    """The status, the parts that do not work, and the problems."""
    response = served.client(token="").get("/readyz")
    found = response.json()
    assert list(found["checks"]) == PARTS and found["ready"] == (response.status_code == 200)
    return response.status_code, [name for name in PARTS if not found["checks"][name]], found["problems"]


def test_a_server_that_works_is_ready(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with())
    assert ready(served) == (200, [], [])
    assert [served.client(token="").head(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_an_empty_workspace_is_ready_and_nothing_is_created(serve: Serve, tmp_path: Path) -> None:
    with Veracity(tmp_path, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        assert ready(serve(engine)) == (200, [], [])
    assert not (tmp_path / "ledger/ledger.sqlite").exists() and not (tmp_path / "knowledge").exists()


def test_each_part_that_fails_has_a_sentence_without_paths(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where the ledger's folder should be, damaged documents, and a floor above any disk's size."""
    monkeypatch.setattr(health, "KEEP_SECONDS", 0.0)
    settings = {"models": {"embedder": "none"}, "server": {"free_megabytes": 10**9}}
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger/ledger.sqlite").write_bytes(b"not a database" * 100)
    (tmp_path / "knowledge/passages.lance/_versions").mkdir(parents=True)
    (tmp_path / "knowledge/passages.lance/data.lance").write_bytes(b"garbage")
    with Veracity(tmp_path, settings=Settings.model_validate(settings)) as engine, caplog.at_level(logging.WARNING):
        served = serve(engine)
        status, failed, problems = ready(served)
        assert (status, failed) == (503, ["ledger", "knowledge", "disk"])
        assert problems == [health.PROBLEMS[name] for name in failed]
        assert not any(str(tmp_path.name) in problem or "/" in problem for problem in problems)
        assert ready(served)[0] == 503
        assert served.client(token="").get("/healthz").status_code == 200
    reasons = [record.message for record in caplog.records if record.message.startswith("Not ready")]
    assert len(reasons) == 3 and all(str(tmp_path) in reason for reason in reasons)  # each is logged once


def test_a_check_that_hangs_fails_and_blocks_nobody(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.2)
    engine, goes_on = engine_with(), threading.Event()
    checks = {**dict.fromkeys(PARTS[:-1], lambda: None), "ledger": lambda: goes_on.wait(60) and None}
    monkeypatch.setattr(Maintenance, "readiness_checks", lambda _: checks)
    served = serve(engine)
    assert ready(served) == (503, ["ledger"], ["The check of the ledger took too long."])
    goes_on.set()


def test_a_server_that_shuts_down_is_not_ready(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with())
    served.app.state.live.stop(grace=0)
    assert ready(served) == (503, ["server"], ["The server is shutting down."])
