"""Subprocesses that open a ledger at the same time, or are killed while they write.

The program imports everything once and forks before it opens a file: importing in sixteen processes would take longer
than the test.
"""

import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from io import FileIO
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path

from tests.ledger.material import begin, make_answer
from tests.postgres import use_postgres_of_parent
from veracity.ledger import Ledger, Observations, RunRecords, observations

ROOT = Path(__file__).parents[2]
WRITERS = 16
TIMEOUT_SECONDS = 90.0


def run_alone(task: str, *arguments: object) -> list[str]:
    """The lines that the task printed, sorted."""
    command = [sys.executable, "-m", "tests.ledger.killed", task, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS + 30)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def open_at_once(folder: str, count: str) -> None:
    context = multiprocessing.get_context("fork")
    gate = context.Event()
    openers = [context.Process(target=_open_one, args=(Path(folder), number, gate)) for number in range(int(count))]
    for opener in openers:
        opener.start()
    gate.set()
    for number, opener in enumerate(openers):
        opener.join(60)
        print(f"opened r{number}" if opener.exitcode == 0 else f"r{number} failed")


def _open_one(folder: Path, number: int, gate: "multiprocessing.synchronize.Event") -> None:
    gate.wait(60)
    ledger = Ledger(folder)
    begin(ledger, f"r{number}")
    ledger.close()


def kill_writers(workspace: str, seed: str, kills: str, runs: str) -> None:
    """Kill and replace writers one by one, until enough were killed and enough runs finished."""
    context, log = multiprocessing.get_context("fork"), Path(workspace) / "log"
    log.touch()
    chance, until = random.Random(int(seed)), time.monotonic() + TIMEOUT_SECONDS
    writers = {number: _start(context, Path(workspace), number) for number in range(WRITERS)}
    killed = 0
    while killed < int(kills) or len(log.read_bytes().splitlines()) < int(runs):
        assert time.monotonic() < until
        time.sleep(chance.uniform(0.02, 0.3))
        number = chance.choice(sorted(writers))
        _kill(writers.pop(number))
        killed += 1
        writers[WRITERS + killed] = _start(context, Path(workspace), WRITERS + killed)
    for writer in writers.values():
        _kill(writer)
    print(f"killed {killed + WRITERS}")


def _start(context: ForkContext, workspace: Path, number: int) -> ForkProcess:
    writer = context.Process(target=_write_until_killed, args=(workspace, number))
    writer.start()
    return writer


def _kill(writer: ForkProcess) -> None:
    assert writer.is_alive()  # or it died for another reason
    writer.kill()
    writer.join(60)


def _write_until_killed(workspace: Path, number: int) -> None:
    """Logs each run after the ledger has stored its end."""
    observations._write_or_undo = _write_slowly
    chance = random.Random(number)
    ledger, file = Ledger(workspace / "ledger"), Observations(workspace / "observational_data.json")
    log = os.open(workspace / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for count in range(1_000_000):
        run_id = f"{number}-{count}"
        begin(ledger, run_id)
        record = {"instruction": "何日ですか？", "output": "答" * chance.randrange(2000)}
        answer = make_answer(run_id, []).model_copy(update={"attempt": 1 + count % 2})
        ledger.finish(answer, RunRecords(observation=record), token=1)
        os.write(log, f"{run_id} {1 + count % 2}\n".encode())
        ledger.deliver(file)


def _write_slowly(file: FileIO, content: bytes) -> None:
    """In many pieces, so that a kill tears lines often."""
    for start in range(0, len(content), 500):
        file.write(content[start : start + 500])
        time.sleep(0.0002)
    os.fsync(file.fileno())


if __name__ == "__main__":
    use_postgres_of_parent()
    TASKS: dict[str, Callable[..., None]] = {"open_at_once": open_at_once, "kill_writers": kill_writers}
    TASKS[sys.argv[1]](*sys.argv[2:])
