"""Uploads whose process is killed: no partial file is left, and another process finishes them.

One process serves all tests and forks a child for each kill, because starting a process takes seconds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.uploads.files import BINARY, set_aside, stored, upload
from veracity.engine import Veracity

OLD, NEW = "古い案内です。", "新しい案内です。"

FORK_SERVER = """
import io, json, os, signal, sys
from pathlib import Path
from veracity.knowledge.uploads import Uploads

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Half(io.BytesIO):
    def read(self, size=-1):
        return die() if self.tell() else super().read(10)

def upload(folder, name, content, when):
    if when == "writing":
        os.fsync = die
    source = Half if when == "reading" else io.BytesIO
    Uploads(Path(folder), 1).add(name, source(bytes.fromhex(content)), die)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        upload(*json.loads(line))
        os._exit(0)
    print(os.waitpid(child, 0)[1] == signal.SIGKILL, flush=True)
"""

Kill = Callable[..., None]


@pytest.fixture(scope="module")
def fork_server() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-W", "ignore", "-c", FORK_SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def killed(fork_server: "subprocess.Popen[str]", folder: Path) -> Kill:
    """Kill a process that uploads a file while it reads, writes or ingests it."""

    def killed(name: str, content: str | bytes, when: str = "ingesting") -> None:
        data = content.encode() if isinstance(content, str) else content
        assert fork_server.stdin and fork_server.stdout
        fork_server.stdin.write(json.dumps([str(folder), name, data.hex(), when]) + "\n")
        fork_server.stdin.flush()
        assert fork_server.stdout.readline() == "True\n"

    return killed


def texts(engine: Veracity) -> list[str]:
    return [engine.text(item.id) for item in engine.documents()]


def test_partial_files_are_removed_by_the_next_change(engine: Veracity, folder: Path, killed: Kill) -> None:
    known = upload(engine, "a.txt", OLD)
    killed("a.txt", NEW, "reading")
    assert (stored(folder), set_aside(folder)) == ({"a.txt": OLD.encode()}, [])
    killed("a.txt", NEW, "writing")
    assert stored(folder) == {"a.txt": OLD.encode()}
    assert set_aside(folder) != []
    engine.forget(known.document_id or "")
    assert (stored(folder), set_aside(folder)) == ({}, [])


def test_unfinished_uploads_are_finished_by_another_process(engine: Veracity, folder: Path, killed: Kill) -> None:
    names = ["guide.txt", "ガイド.txt", "指南.txt"]
    for name in names:
        upload(engine, name, OLD)
        os.utime(folder / name, (0, 0))
        killed(name, NEW)
    engine.ingest(folder / "指南.txt")  # as if it had been killed after that
    assert engine.uploads.unfinished() == names
    outcomes = [engine.uploads.finish(name) for name in names]
    assert [(outcome.name, outcome.status) for outcome in outcomes if outcome] == [
        ("guide.txt", "updated"),
        ("ガイド.txt", "updated"),
        ("指南.txt", "unchanged"),
    ]
    assert texts(engine) == [NEW] * 3
    assert (engine.uploads.unfinished(), engine.uploads.finish("指南.txt"), set_aside(folder)) == ([], None, [])


def test_an_unfinished_upload_that_is_no_document_restores_the_old_file(
    engine: Veracity, folder: Path, killed: Kill
) -> None:
    for name, content in (("指南.txt", BINARY), ("ガイド.txt", b"%PDF-1.7 x")):
        upload(engine, name, OLD)
        killed(name, content)
        killed(f"new {name}", content)
    assert engine.uploads.unfinished() == sorted(stored(folder)) and len(stored(folder)) == 4
    outcomes = [engine.uploads.finish(name) for name in engine.uploads.unfinished()]
    assert {outcome.status for outcome in outcomes if outcome} == {"skipped", "failed"} and None not in outcomes
    assert stored(folder) == {"指南.txt": OLD.encode(), "ガイド.txt": OLD.encode()}
    assert texts(engine) == [OLD] * 2
    assert (engine.uploads.unfinished(), set_aside(folder)) == ([], [])


def test_a_second_bad_upload_keeps_the_good_file(engine: Veracity, folder: Path, killed: Kill) -> None:
    upload(engine, "a.txt", OLD)
    killed("a.txt", BINARY)
    assert upload(engine, "a.txt", BINARY).status == "skipped"
    assert stored(folder) == {"a.txt": OLD.encode()}
    assert texts(engine) == [OLD]


def test_forgetting_removes_an_interrupted_upload(engine: Veracity, folder: Path, killed: Kill) -> None:
    first = upload(engine, "a.txt", OLD)
    killed("a.txt", NEW)
    engine.forget(first.document_id or "")
    assert (stored(folder), set_aside(folder), engine.uploads.unfinished()) == ({}, [], [])
