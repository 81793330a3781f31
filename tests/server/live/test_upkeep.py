"""A running server removes forgotten documents from the disk, and what has expired."""

import logging
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.server.conftest import Serve
from veracity.engine import Veracity
from veracity.knowledge import purge
from veracity.ledger.tables import runs
from veracity.models import Document
from veracity.server.live import upkeep
from veracity.settings import Settings

WORDS = {"en": b"secretzebra", "zh": "机密斑马".encode(), "ja": "秘密のシマウマ".encode()}


def content_of(path: Path) -> bytes:
    """Empty if the running server has removed the file meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_the_bytes_of_a_forgotten_document_leave_the_disk(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((upkeep, "FIRST_SECONDS"), (upkeep, "PURGE_SECONDS"), (purge, "PURGE_AFTER_SECONDS")):
        monkeypatch.setattr(module, name, 0.05)

    def on_disk(word: bytes) -> bool:
        return any(word in content_of(path) for path in tmp_path.rglob("*") if path.is_file())

    with Veracity(tmp_path, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.add([Document(id=name, text=f"A {word.decode()}.") for name, word in WORDS.items()])
        engine.add([Document(id=str(number), text=f"Tiger number {number}.") for number in range(40)])
        assert all(map(on_disk, WORDS.values()))
        served = serve(engine)
        for name in WORDS:
            assert served.client().delete(f"/api/document?id={name}").status_code == 200
        end = time.monotonic() + 60
        while any(map(on_disk, WORDS.values())) and time.monotonic() < end:
            time.sleep(0.05)
        assert [name for name, word in WORDS.items() if on_disk(word)] == []
        assert len(engine.documents()) == 40 and len(engine.search("tiger", 50)) == 40


def test_expired_questions_are_removed_every_day(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("FIRST_SECONDS", "PRUNE_SECONDS"):
        monkeypatch.setattr(upkeep, name, 0.05)
    caplog.set_level(logging.INFO, "veracity.server")
    settings = {"models": {"embedder": "none"}, "approval": {"policy": "always"}, "retention": {"runs_days": 30}}
    with Veracity(tmp_path, settings=Settings.model_validate(settings)) as engine:
        engine.add(Document(id="tiger", text="A tiger weighs 200 kilograms."))
        released, waiting = (engine.ask("How much does a tiger weigh?") for _ in range(2))
        engine.decide(released.approval_id, "approve", by="ann")
        client = serve(engine).client()
        assert client.get(f"/api/runs/{released.run_id}").status_code == 200
        with engine._parts.ledger._database.writing() as connection:  # one is younger by its decision
            connection.execute(sa.update(runs).values(started=datetime(2020, 1, 1, tzinfo=UTC)))
        assert engine.prune().runs == 0
        with engine._parts.ledger._database.writing() as connection:
            connection.execute(sa.text("UPDATE approvals SET decided_at = NULL"))
        end = time.monotonic() + 60
        while client.get(f"/api/runs/{released.run_id}").status_code != 404 and time.monotonic() < end:
            time.sleep(0.05)
        assert client.get(f"/api/runs/{released.run_id}").status_code == 404
        assert client.get(f"/api/runs/{waiting.run_id}").status_code == 200
        assert [run.run_id for run in engine.runs()] == [waiting.run_id]
    assert "Removed what has expired: 1 runs, 0 conversations, the details of 0 receipts." in caplog.text
