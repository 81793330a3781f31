"""Uploads whose process is killed in the midst: nothing half is left, and another process finishes them.

One process stands by for all tests, and each kill is that of a child of it: to start one takes seconds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.uploads.handing_in import BINARY, kept, set_aside, upload
from veracity.engine import Veracity

OLD, NEW = "古い案内です。", "新しい案内です。"

STANDS_BY = """
import io, json, os, signal, sys
from pathlib import Path
from veracity.knowledge.uploads import Uploads

def dies(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Half(io.BytesIO):
    def read(self, size=-1):
        return dies() if self.tell() else super().read(10)

def bring_in(folder, name, content, when):
    if when == "writing":
        os.fsync = dies
    source = Half if when == "reading" else io.BytesIO
    Uploads(Path(folder), 1).bring_in(name, source(bytes.fromhex(content)), dies)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        bring_in(*json.loads(line))
        os._exit(0)
    print(os.waitpid(child, 0)[1] == signal.SIGKILL, flush=True)
"""

Kill = Callable[..., None]


@pytest.fixture(scope="module")
def standing_by() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-W", "ignore", "-c", STANDS_BY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def killed(standing_by: "subprocess.Popen[str]", folder: Path) -> Kill:
    """A process that brings a file in is killed: while it reads, writes, or ingests it."""

    def killed(name: str, content: str | bytes, when: str = "ingesting") -> None:
        data = content.encode() if isinstance(content, str) else content
        assert standing_by.stdin and standing_by.stdout
        standing_by.stdin.write(json.dumps([str(folder), name, data.hex(), when]) + "\n")
        standing_by.stdin.flush()
        assert standing_by.stdout.readline() == "True\n"

    return killed


def texts(engine: Veracity) -> list[str]:
    return [engine.text(one.id) for one in engine.documents()]


def test_no_half_file_is_left_and_nothing_of_it_outlives_the_next_change(
    engine: Veracity, folder: Path, killed: Kill
) -> None:
    known = upload(engine, "a.txt", OLD)
    killed("a.txt", NEW, "reading")
    assert (kept(folder), set_aside(folder)) == ({"a.txt": OLD.encode()}, [])
    killed("a.txt", NEW, "writing")
    assert kept(folder) == {"a.txt": OLD.encode()}
    assert set_aside(folder) != []
    engine.forget(known.document_id or "")
    assert (kept(folder), set_aside(folder)) == ({}, [])


def test_what_was_taken_is_finished_by_another(engine: Veracity, folder: Path, killed: Kill) -> None:
    names = ["guide.txt", "ガイド.txt", "指南.txt"]
    for name in names:
        upload(engine, name, OLD)
        os.utime(folder / name, (0, 0))
        killed(name, NEW)
    engine.ingest(folder / "指南.txt")  # as if it had been killed thereafter
    assert engine.unfinished_uploads() == names
    told = [engine.finish_upload(name) for name in names]
    assert [(one.name, one.status) for one in told if one] == [
        ("guide.txt", "updated"),
        ("ガイド.txt", "updated"),
        ("指南.txt", "unchanged"),
    ]
    assert texts(engine) == [NEW] * 3
    assert (engine.unfinished_uploads(), engine.finish_upload("指南.txt"), set_aside(folder)) == ([], None, [])


def test_what_is_no_document_goes_and_the_one_before_comes_back(engine: Veracity, folder: Path, killed: Kill) -> None:
    for name, content in (("指南.txt", BINARY), ("ガイド.txt", b"%PDF-1.7 x")):
        upload(engine, name, OLD)
        killed(name, content)
        killed(f"new {name}", content)
    assert engine.unfinished_uploads() == sorted(kept(folder)) and len(kept(folder)) == 4
    told = [engine.finish_upload(name) for name in engine.unfinished_uploads()]
    assert {one.status for one in told if one} == {"skipped", "failed"} and None not in told
    assert kept(folder) == {"指南.txt": OLD.encode(), "ガイド.txt": OLD.encode()}
    assert texts(engine) == [OLD] * 2
    assert (engine.unfinished_uploads(), set_aside(folder)) == ([], [])


def test_an_upload_after_a_kill_keeps_the_good_one_when_it_is_no_document_either(
    engine: Veracity, folder: Path, killed: Kill
) -> None:
    upload(engine, "a.txt", OLD)
    killed("a.txt", BINARY)
    assert upload(engine, "a.txt", BINARY).status == "skipped"
    assert kept(folder) == {"a.txt": OLD.encode()}
    assert texts(engine) == [OLD]


def test_forgetting_leaves_nothing_of_an_upload_that_was_interrupted(
    engine: Veracity, folder: Path, killed: Kill
) -> None:
    first = upload(engine, "a.txt", OLD)
    killed("a.txt", NEW)
    engine.forget(first.document_id or "")
    assert (kept(folder), set_aside(folder), engine.unfinished_uploads()) == ({}, [], [])
