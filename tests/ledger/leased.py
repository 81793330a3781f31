"""What runs in processes of its own: owners of runs that live, die or fork, and people who decide at the same time."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.ledger.material import begin
from veracity.errors import DecidedError
from veracity.ledger import Ledger

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


def start(task: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.ledger.leased", task, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told(process: "subprocess.Popen[str]") -> list[str]:
    """All it printed, once it has ended by itself."""
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return output.splitlines()


def own(folder: str, run_id: str, seconds: str) -> None:
    """Begins a run, says so, and holds it until it is told to go on or killed."""
    ledger = Ledger(Path(folder))
    print(begin(ledger, run_id, lease=float(seconds)), flush=True)
    sys.stdin.readline()
    ledger.close()


def own_and_fork(folder: str, run_id: str) -> None:
    """The child outlives its parent, and begins a run of its own."""
    ledger = Ledger(Path(folder))
    begin(ledger, run_id)
    ledger._database.close()  # a connection is not to be shared with a child
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        begin(ledger, f"{run_id} of the child")
        os.write(done, b".")
        time.sleep(PATIENCE)
        os._exit(0)
    os.read(ready, 1)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def race(folder: str, count: str, what: str) -> None:
    """Two processes do the same with each of the runs, at the same moment."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    racers = [context.Process(target=RACES[what], args=(Path(folder), int(count), who, barrier)) for who in "ab"]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(PATIENCE)
        assert racer.exitcode == 0
    for who in "ab":  # what two print at the same time gets mixed
        print((Path(folder) / f"{who}.log").read_text())


def _decide(folder: Path, count: int, who: str, barrier: Barrier) -> None:
    ledger, log = Ledger(folder), []
    for number in range(count):
        barrier.wait(PATIENCE)
        try:
            ledger.decide(f"r{number}.1", "approve" if who == "a" else "reject", by=who)
            log.append(f"{number} {who} won")
        except DecidedError as problem:
            log.append(f"{number} {who} lost: {problem}")
    ledger.close()
    (folder / f"{who}.log").write_text("\n".join(log))


def _take_over(folder: Path, count: int, who: str, barrier: Barrier) -> None:
    ledger, log = Ledger(folder), []
    for number in range(count):
        barrier.wait(PATIENCE)
        log.append(f"{number} {who} {ledger.take_over(f'r{number}', 60.0)}")
    (folder / f"{who}.log").write_text("\n".join(log))
    barrier.wait(PATIENCE)  # who ends first would leave its runs to the other
    ledger.close()


RACES = {"decide": _decide, "take_over": _take_over}

if __name__ == "__main__":
    TASKS: dict[str, Callable[..., None]] = {"own": own, "own_and_fork": own_and_fork, "race": race}
    TASKS[sys.argv[1]](*sys.argv[2:])
