"""What a write to the ledger and a checkpoint cost, in a file and in Postgres.

    python -m benchmarks.ledger_writes [--seconds 0.5] [--rounds 9]

A write adds a step to a run, each thread to a run of its own. A checkpoint stores a state of 4 kB and checks the lease.
Postgres syncs each commit to the disk (its default); SQLite syncs when it truncates its log. The last two
columns are Postgres without notifications, and with NOTIFY in the transaction that writes instead of after it. The
variants take turns, and each figure is the median of the rounds. Afterwards it prints how many transactions a question
takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import sqlalchemy as sa
from tests.ledger.material import begin, make_step
from tests.postgres import running_cluster, schema_url
from tests.runs.scripts import DOCUMENTS, QUESTION

from veracity.engine import Veracity
from veracity.ledger import Ledger
from veracity.ledger.notifications import CHANNEL
from veracity.ledger.postgres import PostgresDatabase
from veracity.models import LedgerChange
from veracity.runs.factory import open_checkpoints
from veracity.settings import Settings

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "100"}
THREADS = (1, 4, 8)
STATE_BYTES = 4000
SQLITE, POSTGRES, SILENT, IN_TRANSACTION = "SQLite", "Postgres", "no notification", "NOTIFY in the transaction"
VARIANTS = (SQLITE, POSTGRES, SILENT, IN_TRANSACTION)


def notify_in_transaction(_: PostgresDatabase, connection: sa.Connection, *changes: LedgerChange) -> None:
    for change in changes:
        connection.execute(sa.text(f"SELECT pg_notify({CHANNEL}, :content)"), {"content": change.model_dump_json()})


NOTIFY = {SILENT: lambda *_: None, IN_TRANSACTION: notify_in_transaction}


class Subject:
    """A ledger, its checkpoints, and a run for each thread."""

    def __init__(self, folder: Path, url: str, variant: str) -> None:
        self._variant = variant
        self.ledger = Ledger(folder, url)
        self.checkpoints = open_checkpoints(folder, url)
        self.tokens = {f"r{number}": begin(self.ledger, f"r{number}") for number in range(max(THREADS))}

    def prepared(self) -> AbstractContextManager[Any]:
        notify = NOTIFY.get(self._variant)
        return mock.patch.object(PostgresDatabase, "notify", notify) if notify else nullcontext()

    def write(self, run_id: str) -> None:
        self.ledger.record(run_id, make_step(), token=self.tokens[run_id])

    def checkpoint(self, run_id: str) -> None:
        saver = self.checkpoints.saver(partial(self.ledger.fenced, run_id, self.tokens[run_id]))
        config: Any = {"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}
        state: Any = {"v": 4, "ts": "", "channel_versions": {"text": "1"}, "versions_seen": {}}
        state |= {"id": f"{time.monotonic_ns():020}", "channel_values": {"text": os.urandom(STATE_BYTES // 2).hex()}}
        saver.put(config, state, {}, {"text": 1})

    def close(self) -> None:
        self.checkpoints.close()
        self.ledger.close()


def rate(work: Callable[[str], None], threads: int, seconds: float) -> float:
    """Calls a second."""
    end = time.monotonic() + seconds

    def repeat(number: int) -> int:
        count = 0
        while time.monotonic() < end:
            work(f"r{number}")
            count += 1
        return count

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(repeat, range(threads))) / seconds


def measure(subjects: dict[str, Subject], seconds: float, rounds: int) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name, subject in subjects.items():
            with subject.prepared():
                for threads in THREADS:
                    found[f"writes/s, {threads} threads", name].append(rate(subject.write, threads, seconds))
                found["checkpoints/s, 1 thread", name].append(rate(subject.checkpoint, 1, seconds))
    return {key: statistics.median(rates) for key, rates in found.items()}


def count_transactions(root: Path) -> tuple[int, int]:
    """Of a question that is answered without a model, and of its checkpoints alone."""
    names: list[str] = []
    settings = Settings.model_validate({"models": {"embedder": "none"}, "approval": {"policy": "never"}})
    fenced = Ledger.fenced

    def note_fence(ledger: Ledger, run_id: str, token: int) -> AbstractContextManager[Any]:
        names.append("checkpoint")
        return fenced(ledger, run_id, token)

    with Veracity(root, settings=settings) as engine, mock.patch.object(Ledger, "fenced", note_fence):
        engine.add(DOCUMENTS)
        engine.ask(QUESTION)  # creates the tables
        names.clear()
        sa.event.listen(sa.Engine, "commit", lambda _: names.append("commit"))
        assert engine.ask(QUESTION).status == "answered"
    return names.count("commit"), names.count("checkpoint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with running_cluster(settings=DURABLE) as cluster, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        subjects: dict[str, Subject] = {}
        for name in VARIANTS:
            place = Path(folder) / name
            subjects[name] = Subject(place, "" if name == SQLITE else schema_url(cluster.url, place), name)
            stack.callback(subjects[name].close)
        found = measure(subjects, options.seconds, options.rounds)
        transactions, checkpoints = count_transactions(Path(folder) / "workspace")
    print(f"| | {' | '.join(VARIANTS)} |\n|---|---|---|---|---|")
    for line in dict.fromkeys(line for line, _ in found):
        without = found[line, SILENT]
        rates = (f"{found[line, name]:.0f} ({found[line, name] / without:.2f})" for name in VARIANTS)
        print(f"| {line} | {' | '.join(rates)} |")
    print('\nIn parentheses: relative to "no notification".')
    print(f"A question takes {transactions} transactions, {checkpoints} of them for checkpoints.")


if __name__ == "__main__":
    main()
