"""Subprocesses for lease tests: owners that live, die or fork, and processes that race for a run or a decision."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.ledger.material import begin, make_step
from tests.postgres import use_postgres_of_parent
from veracity.errors import DecidedError, LedgerError, LostLeaseError
from veracity.ledger import Ledger, database, leases

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 60.0
WRITE_SECONDS = 0.02


def start(task: str, *arguments: object, prefix: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """`prefix` is a command that executes another one."""
    command = [*prefix, sys.executable, "-m", "tests.ledger.leased", task, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_output(process: "subprocess.Popen[str]") -> list[str]:
    """The lines it printed, after it ended without an error."""
    output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0
    return output.splitlines()


def own(folder: str, run_id: str, seconds: str) -> None:
    """Begin a run with a lease of so many seconds, print its token, and own it until a line of input or a kill."""
    leases.LEASE_SECONDS, leases.RENEW_SECONDS = float(seconds), float(seconds) / 3
    ledger = Ledger(Path(folder))
    print(begin(ledger, run_id), flush=True)
    sys.stdin.readline()
    ledger.close()


def keep_writing(folder: str, url: str, run_id: str, seconds: str) -> None:
    """Begin a run with a lease of so many seconds, print its token, and add steps until one is refused. A step that
    cannot be stored is tried again."""
    leases.LEASE_SECONDS, leases.RENEW_SECONDS = float(seconds), float(seconds) / 3
    database.BUSY_SECONDS = min(database.BUSY_SECONDS, float(seconds))  # Postgres ends an idle transaction sooner
    ledger = Ledger(Path(folder), url)
    token = begin(ledger, run_id)
    print(token, flush=True)
    while True:
        try:
            ledger.record(run_id, make_step(), token=token)
        except LostLeaseError:
            break
        except LedgerError:
            print("cannot be stored", flush=True)
        time.sleep(WRITE_SECONDS)
    print("refused", flush=True)
    ledger.close()


def own_and_fork(folder: str, run_id: str) -> None:
    """Fork a child that outlives this process and begins its own run."""
    ledger = Ledger(Path(folder))
    begin(ledger, run_id)
    ledger._database.close()  # connections must not be shared with a child
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        begin(ledger, f"{run_id} of the child")
        os.write(done, b".")
        time.sleep(TIMEOUT_SECONDS)
        os._exit(0)
    os.read(ready, 1)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def race(folder: str, count: str, action: str) -> None:
    """Two processes do the same to each run at the same time."""
    Path(folder).mkdir(exist_ok=True)
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    racers = [context.Process(target=RACES[action], args=(Path(folder), int(count), name, barrier)) for name in "ab"]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(TIMEOUT_SECONDS)
        assert racer.exitcode == 0
    for name in "ab":  # concurrent prints would be mixed
        print((Path(folder) / f"{name}.log").read_text())


def _decide(folder: Path, count: int, name: str, barrier: Barrier) -> None:
    ledger, log = Ledger(folder), []
    for number in range(count):
        barrier.wait(TIMEOUT_SECONDS)
        try:
            ledger.decide(f"r{number}.1", "approve" if name == "a" else "reject", by=name)
            log.append(f"{number} {name} won")
        except DecidedError as error:
            log.append(f"{number} {name} lost: {error}")
    ledger.close()
    (folder / f"{name}.log").write_text("\n".join(log))


def _acquire_lease(folder: Path, count: int, name: str, barrier: Barrier) -> None:
    ledger, log = Ledger(folder), []
    for number in range(count):
        barrier.wait(TIMEOUT_SECONDS)
        log.append(f"{number} {name} {ledger.acquire_lease(f'r{number}')}")
    (folder / f"{name}.log").write_text("\n".join(log))
    barrier.wait(TIMEOUT_SECONDS)  # the first to end would leave its runs to the other
    ledger.close()


RACES = {"decide": _decide, "acquire_lease": _acquire_lease}

if __name__ == "__main__":
    use_postgres_of_parent()
    TASKS: dict[str, Callable[..., None]] = {
        "own": own,
        "keep_writing": keep_writing,
        "own_and_fork": own_and_fork,
        "race": race,
    }
    TASKS[sys.argv[1]](*sys.argv[2:])
