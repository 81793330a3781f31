"""Workers that hang, hog, crash and lie."""

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
from veracity.reading import CappedWorkers, WorkerFailure

ROOT = Path(__file__).parents[3]
DO = "tests.reading.tasks:do"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of the tests, for the worker processes too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))


@pytest.fixture
def workers(importable: None) -> Iterator[CappedWorkers]:
    with CappedWorkers(DO, workers=1, seconds=20, memory_megabytes=300) as running:
        yield running


def ask(workers: CappedWorkers, what: str, **more: Any) -> dict[str, Any]:
    return workers.submit({"what": what, **more}).result(timeout=60)


def failure(workers: CappedWorkers, what: str, **more: Any) -> WorkerFailure:
    with pytest.raises(WorkerFailure) as failed:
        ask(workers, what, **more)
    return failed.value


def is_gone(process: int) -> bool:
    for _ in range(100):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except ProcessLookupError:
            return True
        except FileNotFoundError:  # not Linux, or gone this very moment
            state = ""
        if state == "Z":  # ended, and only waiting for its new parent to notice
            return True
        time.sleep(0.05)
    return False


def test_one_process_does_many_jobs(workers: CappedWorkers) -> None:
    replies = [ask(workers, "echo", say=f"第{number}回 \ud800") for number in range(20)]
    assert [reply["said"] for reply in replies] == [f"第{number}回 \ud800" for number in range(20)]
    assert len({reply["process"] for reply in replies}) == 1


def test_no_more_processes_than_needed_or_allowed() -> None:
    with CappedWorkers(DO, workers=2, seconds=20, memory_megabytes=300) as workers:
        jobs = [workers.submit({"what": "echo", "say": number}) for number in range(50)]
        replies = [job.result(60) for job in jobs]
    assert [reply["said"] for reply in replies] == list(range(50))
    assert 1 <= len({reply["process"] for reply in replies}) <= 2


@pytest.mark.parametrize("what", ["sleep", "spin"])
def test_a_job_that_takes_too_long_is_ended(what: str) -> None:
    with CappedWorkers(DO, workers=1, seconds=0.5, memory_megabytes=300) as workers:
        before = ask(workers, "echo")["process"]
        failed = failure(workers, what)
        assert (failed.kind, failed.reason) == ("time", "it took longer than 0.5 seconds to read")
        assert ask(workers, "echo")["process"] != before
        assert is_gone(before)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of memory there")
def test_memory_is_capped(workers: CappedWorkers) -> None:
    failed = failure(workers, "allocate", megabytes=1_000)
    assert (failed.kind, failed.reason) == ("memory", "it needs more than 300 MB of memory to read")
    assert ask(workers, "allocate", megabytes=100) == {"length": 100_000_000}


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of memory there")
def test_a_job_does_not_pay_for_what_others_leaked(workers: CappedWorkers) -> None:
    replies = [ask(workers, "hoard", megabytes=80) for _ in range(8)]
    assert len({reply["process"] for reply in replies}) > 1


@pytest.mark.parametrize(
    ("what", "how"),
    [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("leave", "exit code 3"), ("kill_self", "SIGKILL")],
)
def test_a_crash_is_named_and_the_next_job_is_done(workers: CappedWorkers, what: str, how: str) -> None:
    failed = failure(workers, what)
    assert (failed.kind, failed.reason) == ("crash", f"the process that read it crashed ({how})")
    assert ask(workers, "echo", say=1)["said"] == 1


def test_an_error_is_told_in_one_line_and_the_process_stays(workers: CappedWorkers, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    before = ask(workers, "echo")["process"]
    failed = failure(workers, "fail", say="two\nlines, hunter2-hunter2, " + "x" * 1_000)
    assert failed.kind == "error"
    assert failed.reason.startswith("ValueError: two lines, •••, x")
    assert len(failed.reason) <= 310
    assert "Traceback" not in failed.reason
    assert "RecursionError" in failure(workers, "recurse").reason
    assert "not JSON serializable" in failure(workers, "not_json").reason
    assert ask(workers, "echo")["process"] == before


def test_a_task_that_does_not_exist() -> None:
    for task in ("tests.reading.nowhere:do", "tests.reading.tasks:nothing_here", "tests.reading.tasks"):
        with CappedWorkers(task, workers=1, seconds=20, memory_megabytes=300) as workers:
            assert failure(workers, "echo").kind == "error"


def test_noise_does_not_disturb(workers: CappedWorkers) -> None:
    assert ask(workers, "print_everywhere", read=True) == {"input": ""}
    assert ask(workers, "echo", say="clear")["said"] == "clear"


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of files there")
def test_no_file_can_be_written(workers: CappedWorkers, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("as it was")
    for name in ("x", "there"):
        assert "switched off" in failure(workers, "write_file", path=str(tmp_path / name)).reason
    assert not (tmp_path / "x").exists()
    assert (tmp_path / "there").read_text() == "as it was"


def test_no_network_and_no_other_programs(workers: CappedWorkers) -> None:
    assert "switched off" in failure(workers, "connect", port=9).reason
    assert "switched off" in failure(workers, "run_program").reason


def test_no_credentials_are_passed_on(workers: CappedWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SESSION", "DATABASE_URL", "PYTHON_SECRET_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    seen = ask(workers, "environment")
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
def test_a_worker_that_lies_is_not_believed(workers: CappedWorkers, reply: bytes) -> None:
    assert failure(workers, "lie", bytes=reply.hex()).kind in {"crash", "size"}
    assert ask(workers, "echo", say=1)["said"] == 1


def test_nothing_is_no_result(workers: CappedWorkers) -> None:
    assert failure(workers, "nothing").kind == "crash"


def test_a_result_that_is_too_long(workers: CappedWorkers) -> None:
    failed = failure(workers, "too_long")
    assert (failed.kind, failed.reason) == ("size", "its text is larger than 512 MB")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_killed_between_jobs_is_replaced(workers: CappedWorkers) -> None:
    for pause in (0.0, 0.2):
        os.kill(ask(workers, "echo")["process"], signal.SIGKILL)
        time.sleep(pause)
        assert ask(workers, "echo", say=1)["said"] == 1


def test_bad_jobs_among_good_ones_lose_none() -> None:
    whats = ["echo", "abort", "echo", "fail", "echo", "sleep", "echo", "leave", "echo", "echo"]
    with CappedWorkers(DO, workers=2, seconds=1, memory_megabytes=300) as workers:
        jobs = [workers.submit({"what": what, "say": "x"}) for what in whats]
        wait(jobs, 60)
        assert [job.exception() is None for job in jobs] == [what == "echo" for what in whats]


def test_a_request_that_is_no_json_fails_alone(workers: CappedWorkers) -> None:
    with pytest.raises(TypeError):
        workers.submit({"what": object()}).result(20)
    assert ask(workers, "echo", say=1)["said"] == 1


def test_a_job_that_was_cancelled_is_not_done(workers: CappedWorkers) -> None:
    running = workers.submit({"what": "sleep", "seconds": 0.5})
    waiting = workers.submit({"what": "abort"})
    assert waiting.cancel()
    assert running.result(20) == {}
    assert ask(workers, "echo", say=1)["said"] == 1


def test_closing_ends_what_runs_and_what_waits(workers: CappedWorkers) -> None:
    process = ask(workers, "echo")["process"]
    jobs: list[Future[dict[str, Any]]] = [workers.submit({"what": "sleep"}) for _ in range(3)]
    time.sleep(0.2)
    started = time.monotonic()
    workers.close()
    workers.close()
    assert time.monotonic() - started < 10
    assert {job.exception(5).kind for job in jobs if job.exception(5)} == {"closed"}  # type: ignore[union-attr]
    assert is_gone(process)
    with pytest.raises(WorkerFailure, match="stopped"):
        workers.submit({"what": "echo"})


def test_what_is_forgotten_is_released() -> None:
    workers = CappedWorkers(DO, workers=1, seconds=20, memory_megabytes=300)
    process = ask(workers, "echo")["process"]
    del workers
    gc.collect()
    assert is_gone(process)


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
    with CappedWorkers(DO, workers=1, seconds=60, memory_megabytes=768) as workers:
        for extension, content in contents.items():
            reply = ask(workers, "read", content=content.hex(), name=f"a.{extension}")
            assert sentence in reply["text"]
            assert reply["format"] == extension.replace("txt", "text")
        assert "Unreadable: it is empty" in failure(workers, "read", content="", name="a.txt").reason


PROGRAM = """
import os, sys, time
from veracity.reading import CappedWorkers
workers = CappedWorkers("tests.reading.tasks:do", workers=2, seconds=600, memory_megabytes=300)
print(workers.submit({"what": "echo"}).result()["process"], flush=True)
job = workers.submit({"what": sys.argv[1]})
time.sleep(0.3)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("what", "end"), [("echo", "ends"), ("spin", "ends"), ("sleep", "killed")])
def test_no_worker_outlives_the_program(what: str, end: str) -> None:
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, what, end], capture_output=True, text=True, timeout=30, check=False
    )
    assert time.monotonic() - started < 15
    assert ran.stderr == ""
    assert is_gone(int(ran.stdout))
