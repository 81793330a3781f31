"""Workers that hang, exhaust memory, crash or send invalid replies."""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import pytest

from tests.reading import documents
from veracity.reading.sandbox import process
from veracity.reading.sandbox.pool import SandboxPool
from veracity.reading.sandbox.process import WorkerFailure

ROOT = Path(__file__).parents[3]
TASK = "tests.reading.tasks:run_task"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker processes import the tasks of the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))


@pytest.fixture
def workers(importable: None) -> Iterator[SandboxPool]:
    with SandboxPool(TASK, workers=1, seconds=20, memory_megabytes=300) as running:
        yield running


def run(workers: SandboxPool, task: str, **more: Any) -> dict[str, Any]:
    return workers.submit({"task": task, **more}).result(timeout=60)


def failure(workers: SandboxPool, task: str, **more: Any) -> WorkerFailure:
    with pytest.raises(WorkerFailure) as failed:
        run(workers, task, **more)
    return failed.value


def has_ended(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except ProcessLookupError:
            return True
        except FileNotFoundError:  # not Linux, or just ended
            state = ""
        if state == "Z":  # a zombie
            return True
        time.sleep(0.05)
    return False


def test_one_process_serves_many_requests(workers: SandboxPool) -> None:
    replies = [run(workers, "echo", say=f"第{number}回 \ud800") for number in range(20)]
    assert [reply["said"] for reply in replies] == [f"第{number}回 \ud800" for number in range(20)]
    assert len({reply["process"] for reply in replies}) == 1


def test_the_number_of_processes_is_bounded() -> None:
    with SandboxPool(TASK, workers=2, seconds=20, memory_megabytes=300) as workers:
        jobs = [workers.submit({"task": "echo", "say": number}) for number in range(50)]
        replies = [job.result(60) for job in jobs]
    assert [reply["said"] for reply in replies] == list(range(50))
    assert 1 <= len({reply["process"] for reply in replies}) <= 2


def test_every_part_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with SandboxPool(TASK, workers=1, seconds=1, memory_megabytes=300) as workers:
        assert run(workers, "read_pages", pages=2, seconds=1.5) == {"pages": 2}
        failed = failure(workers, "read_pages", pages=1, seconds=60)
        assert (failed.kind, failed.reason) == ("time", "it took longer than 5 seconds to read")
        monkeypatch.setattr(process, "MAX_PARTS", 3)
        failed = failure(workers, "read_pages", pages=10, seconds=0)
        assert (failed.kind, failed.reason) == ("size", "it has more than 3 pages or parts")
        assert run(workers, "echo", say="again")["said"] == "again"


@pytest.mark.parametrize("task", ["sleep", "spin"])
def test_a_request_that_takes_too_long_is_killed(task: str) -> None:
    with SandboxPool(TASK, workers=1, seconds=0.5, memory_megabytes=300) as workers:
        before = run(workers, "echo")["process"]
        failed = failure(workers, task)
        assert (failed.kind, failed.reason) == ("time", "it took longer than 0.5 seconds to read")
        assert run(workers, "echo")["process"] != before
        assert has_ended(before)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of memory there")
def test_memory_is_limited(workers: SandboxPool) -> None:
    failed = failure(workers, "allocate", megabytes=1_000)
    assert (failed.kind, failed.reason) == ("memory", "it needs more than 300 MB of memory to read")
    assert run(workers, "allocate", megabytes=100) == {"length": 100_000_000}


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of memory there")
def test_a_request_is_retried_in_a_fresh_process_after_a_leak(workers: SandboxPool) -> None:
    replies = [run(workers, "leak", megabytes=80) for _ in range(8)]
    assert len({reply["process"] for reply in replies}) > 1


@pytest.mark.parametrize(
    ("task", "cause"),
    [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("exit_at_once", "exit code 3"), ("kill_self", "SIGKILL")],
)
def test_a_crash_has_a_reason_and_the_next_request_works(workers: SandboxPool, task: str, cause: str) -> None:
    failed = failure(workers, task)
    assert (failed.kind, failed.reason) == ("crash", f"the process that read it crashed ({cause})")
    assert run(workers, "echo", say=1)["said"] == 1


def test_an_error_is_one_line_without_secrets_and_the_process_stays(workers: SandboxPool, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    before = run(workers, "echo")["process"]
    failed = failure(workers, "fail", say="two\nlines, hunter2-hunter2, " + "x" * 1_000)
    assert failed.kind == "error"
    assert failed.reason.startswith("ValueError: two lines, •••, x")
    assert len(failed.reason) <= 310
    assert "Traceback" not in failed.reason
    assert "RecursionError" in failure(workers, "recurse").reason
    assert "not JSON serializable" in failure(workers, "not_json").reason
    assert run(workers, "echo")["process"] == before


def test_a_task_that_does_not_exist() -> None:
    for task in ("tests.reading.nowhere:run_task", "tests.reading.tasks:nothing_here", "tests.reading.tasks"):
        with SandboxPool(task, workers=1, seconds=20, memory_megabytes=300) as workers:
            assert failure(workers, "echo").kind == "error"


def test_printing_does_not_break_the_protocol(workers: SandboxPool) -> None:
    assert run(workers, "print_everywhere", read=True) == {"input": ""}
    assert run(workers, "echo", say="clear")["said"] == "clear"


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of files there")
def test_workers_cannot_write_files(workers: SandboxPool, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("unchanged")
    for name in ("x", "there"):
        assert "switched off" in failure(workers, "write_file", path=str(tmp_path / name)).reason
    assert not (tmp_path / "x").exists()
    assert (tmp_path / "there").read_text() == "unchanged"


def test_workers_cannot_use_the_network_or_start_programs(workers: SandboxPool) -> None:
    assert "switched off" in failure(workers, "connect", port=9).reason
    assert "switched off" in failure(workers, "run_program").reason


def test_workers_get_no_credentials(workers: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SESSION", "DATABASE_URL", "PYTHON_SECRET_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    seen = run(workers, "environment")
    assert "hunter2" not in seen.values()
    assert "PATH" in seen


@pytest.mark.parametrize(
    "reply",
    [
        b"\xff" * 100,
        (5).to_bytes(8, "big") + b"nojsn",
        (2).to_bytes(8, "big") + b"[]",
        b"\x00\x00",
        (13).to_bytes(8, "big") + b'{"result": 1}',
        (200000).to_bytes(8, "big") + b"[" * 200000,
    ],
)
def test_invalid_replies_are_rejected(workers: SandboxPool, reply: bytes) -> None:
    assert failure(workers, "lie", bytes=reply.hex()).kind in {"crash", "size"}
    assert run(workers, "echo", say=1)["said"] == 1


def test_a_null_result_is_rejected(workers: SandboxPool) -> None:
    assert failure(workers, "nothing").kind == "crash"


def test_a_result_that_is_too_long(workers: SandboxPool) -> None:
    failed = failure(workers, "too_long")
    assert (failed.kind, failed.reason) == ("size", "its text is larger than 512 MB")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_killed_between_requests_is_replaced(workers: SandboxPool) -> None:
    for pause in (0.0, 0.2):
        os.kill(run(workers, "echo")["process"], signal.SIGKILL)
        time.sleep(pause)
        assert run(workers, "echo", say=1)["said"] == 1


def test_bad_requests_do_not_affect_good_ones() -> None:
    tasks = ["echo", "abort", "echo", "fail", "echo", "sleep", "echo", "exit_at_once", "echo", "echo"]
    with SandboxPool(TASK, workers=2, seconds=1, memory_megabytes=300) as workers:
        jobs = [workers.submit({"task": task, "say": "x"}) for task in tasks]
        wait(jobs, 60)
        assert [job.exception() is None for job in jobs] == [task == "echo" for task in tasks]


def test_a_request_that_is_not_json_fails_alone(workers: SandboxPool) -> None:
    with pytest.raises(TypeError):
        workers.submit({"task": object()}).result(20)
    assert run(workers, "echo", say=1)["said"] == 1


def test_a_cancelled_request_is_not_run(workers: SandboxPool) -> None:
    running = workers.submit({"task": "sleep", "seconds": 0.5})
    waiting = workers.submit({"task": "abort"})
    assert waiting.cancel()
    assert running.result(20) == {}
    assert run(workers, "echo", say=1)["said"] == 1


def test_close_fails_running_and_queued_requests(workers: SandboxPool) -> None:
    process = run(workers, "echo")["process"]
    jobs: list[Future[dict[str, Any]]] = [workers.submit({"task": "sleep"}) for _ in range(3)]
    time.sleep(0.2)
    started = time.monotonic()
    workers.close()
    workers.close()
    assert time.monotonic() - started < 10
    assert {job.exception(5).kind for job in jobs if job.exception(5)} == {"closed"}  # type: ignore[union-attr]
    assert has_ended(process)
    with pytest.raises(WorkerFailure, match="stopped"):
        workers.submit({"task": "echo"})


def test_a_garbage_collected_pool_ends_its_processes() -> None:
    workers = SandboxPool(TASK, workers=1, seconds=20, memory_megabytes=300)
    process = run(workers, "echo")["process"]
    del workers
    gc.collect()
    assert has_ended(process)


def test_every_parser_works_under_the_limits() -> None:
    sentence = "返品は購入日から三十日以内に受け付けます。"
    contents = {
        "txt": sentence.encode("cp932"),
        "html": f"<main><h1>返品</h1>{f'<p>{sentence}</p>' * 40}</main>".encode(),
        "pdf": documents.pdf(sentence),
        "xlsx": documents.xlsx({"S": [[sentence]]}),
        "docx": documents.docx(sentence),
        "pptx": documents.pptx_file(("返品", sentence)),
    }
    with SandboxPool(TASK, workers=1, seconds=60, memory_megabytes=768) as workers:
        for extension, content in contents.items():
            reply = run(workers, "read", content=content.hex(), name=f"a.{extension}")
            assert sentence in reply["text"]
            assert reply["format"] == extension.replace("txt", "text")
        assert "Unreadable: it is empty" in failure(workers, "read", content="", name="a.txt").reason


PROGRAM = """
import os, sys, time
from veracity.reading.sandbox.pool import SandboxPool
workers = SandboxPool("tests.reading.tasks:run_task", workers=2, seconds=600, memory_megabytes=300)
print(workers.submit({"task": "echo"}).result()["process"], flush=True)
job = workers.submit({"task": sys.argv[1]})
time.sleep(0.3)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("task", "end"), [("echo", "ends"), ("spin", "ends"), ("sleep", "killed")])
def test_no_worker_outlives_its_parent(task: str, end: str) -> None:
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, task, end], capture_output=True, text=True, timeout=30, check=False
    )
    assert time.monotonic() - started < 15
    assert ran.stderr == ""
    assert has_ended(int(ran.stdout))
