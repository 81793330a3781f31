"""A backup or a move that is killed does no harm, and the next one succeeds."""

import signal
from pathlib import Path

import pytest
from benchmarks.campaigns.fork_server import ForkServer

from tests.postgres import schema_url, shared_url
from tests.transfer import killed
from tests.transfer.conftest import Used
from veracity.engine import Veracity
from veracity.transfer.backup import back_up
from veracity.transfer.move import move_store

BACKUP_DEATHS = [("snapshot", "_copy_database", 2), ("backup", "check_archive", 1)]
MOVE_DEATH = ("move", "_copy_checkpoints", 1)  # the ledger is copied and not committed


def test_killed_backups_and_moves(used: Used, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path / "backup.tar.zst"
    url = schema_url(shared_url(tmp_path_factory), tmp_path)
    with ForkServer("tests.transfer.killed") as server:

        def kill(module: str, function: str, call: int, **options: str) -> None:
            where = {"module": f"veracity.transfer.{module}", "function": function, "call": call}
            child = server.start(killed.work_until_killed, {**where, **options, "root": str(used.root)})
            assert child.wait() == -signal.SIGKILL

        for death in BACKUP_DEATHS:
            kill(*death, file=str(file))
            assert not file.exists()
        kill(*MOVE_DEATH, url=url)
    assert (used.root / "ledger" / ".backup").exists()
    assert back_up(used.root, file).counts.pending == 1  # the old place is still in use
    assert list(tmp_path.glob(".*")) == [] and not (used.root / "ledger" / ".backup").exists()
    move_store(used.root, ledger=url)
    with Veracity(used.root) as engine:
        assert engine.settings.store.ledger == url and engine.pending() == 1
