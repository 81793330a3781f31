"""A workspace with everything that a backup or a move has to keep."""

import io
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.moto import keys, moto
from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity.engine import Veracity
from veracity.settings import Settings

__all__ = ["keys", "moto"]

TOML = "# our settings\n[models]\nembedder = 'none'  # words only\n"
TEA = "Tea is served at four o'clock."


class Used(NamedTuple):
    root: Path
    answered: str  # a run in the conversation "leave"
    pending: str
    token: str  # of ann


@pytest.fixture(scope="session")
def used_once(tmp_path_factory: pytest.TempPathFactory) -> Used:
    root = tmp_path_factory.mktemp("used") / "workspace"
    root.mkdir()
    (root / "veracity.toml").write_text(TOML)
    (root / "metrics").mkdir()
    (root / "metrics" / "_notes.py").write_text("# nothing\n")
    settings = {"models": {"embedder": "none"}, "approval": {"policy": "never"}}
    with Veracity(root, settings=Settings.model_validate(settings)) as engine:
        engine.add(DOCUMENTS)
        engine.upload("tea.md", io.BytesIO(f"# Tea\n\n{TEA}".encode()))
        answered = engine.ask(QUESTION, conversation="leave").run_id
        token = engine.users.add("ann", "approver")
    settings["approval"] = {"policy": "always"}
    with Veracity(root, settings=Settings.model_validate(settings)) as engine:
        pending = engine.ask("How much may hotels cost?").run_id
    return Used(root, answered, pending, token)


@pytest.fixture
def used(used_once: Used, tmp_path: Path) -> Used:
    return used_once._replace(root=Path(shutil.copytree(used_once.root, tmp_path / "workspace")))


def assert_works(root: Path, used: Used) -> None:
    """Everything is there, and the run that waits can be decided."""
    with Veracity(root) as engine:
        assert len(engine.documents()) == len(DOCUMENTS) + 1
        assert TEA in engine.search("When is tea served?")[0].text
        assert engine.receipt(used.answered).answer is not None
        assert [turn.run_id for turn in engine.turns("leave")] == [used.answered]
        user = engine.users.who(used.token)
        assert user is not None and user.name == "ann"
        assert len(list(engine.observations())) == 1
        assert engine.interrupted() == []
        answer = engine.decide(used.pending, "approve", by="ann")
        assert "150 euros" in answer.text and answer.status == "answered"
        newer = engine.ask("Is every laptop encrypted?")
        assert [run.run_id for run in engine.runs()] == [newer.run_id, used.pending, used.answered]
