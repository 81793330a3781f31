"""A git snapshot of given files, as `git clone --bare` makes it."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from training.snapshots import Snapshot

MakeSnapshot = Callable[[dict[str, bytes]], Snapshot]


@pytest.fixture
def make_snapshot(tmp_path: Path) -> MakeSnapshot:
    def make(files: dict[str, bytes]) -> Snapshot:
        folder = tmp_path / "someone+something" / "repo"
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@localhost"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Add"]):
            subprocess.run([*git, *command], check=True)
        (folder / ".git").rename(tmp_path / "bare")
        shutil.rmtree(folder)
        (tmp_path / "bare").rename(folder)
        return Snapshot(tmp_path, "someone/something", "HEAD")

    return make
