"""What the files of a workspace say, read without the engine: from the databases and from the file of observations."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENDED = ("answered", "abstained", "rejected", "failed")


@dataclass(frozen=True)
class ApprovalRow:
    """`decision` is who decided what, None while it waits."""

    approval_id: str
    run_id: str
    attempt: int
    state: str
    on_reject: str
    decision: tuple[str, str, str | None] | None
    draft: str
    draft_status: str


@dataclass(frozen=True)
class RunRow:
    run_id: str
    question: str
    status: str
    problem: str
    conversation: str
    turn: int
    answer: dict[str, Any] | None
    approvals: list[ApprovalRow]
    web_attempts: set[int]


@dataclass(frozen=True)
class Records:
    """`undelivered` are run and attempt of observations on their way into their file; `torn` are lines of that file
    that are no record."""

    runs: list[RunRow]
    undelivered: set[tuple[str, int]] = field(default_factory=set)
    observations: list[dict[str, Any]] = field(default_factory=list)
    torn: int = 0

    @property
    def approvals(self) -> list[ApprovalRow]:
        return [one for run in self.runs for one in run.approvals]

    @property
    def pending(self) -> list[ApprovalRow]:
        return [one for one in self.approvals if one.state == "pending"]


def read(root: Path) -> Records:
    path = root / "ledger" / "ledger.sqlite"
    if not path.exists():
        return Records([])
    with _reading(path) as ledger:
        ledger.execute("BEGIN")  # all of one moment
        approvals: dict[str, list[ApprovalRow]] = defaultdict(list)
        for row in ledger.execute("SELECT * FROM approvals ORDER BY number"):
            approvals[row["run_id"]].append(_approval(row))
        web: dict[str, set[int]] = defaultdict(set)
        for row in ledger.execute("SELECT run_id, facts FROM steps WHERE name = 'web_search'"):
            web[row["run_id"]].add(json.loads(row["facts"])["attempt"])
        rows = ledger.execute("SELECT * FROM runs ORDER BY number").fetchall()
        unsettled = ledger.execute("SELECT run_id, attempt FROM outbox WHERE state IN ('pending', 'delivering')")
        coming = {(row["run_id"], row["attempt"]) for row in unsettled}
    runs = [_run(row, approvals[row["run_id"]], web[row["run_id"]]) for row in rows]
    return Records(runs, coming, *_observations(root / "observational_data.json"))


def damage(root: Path) -> list[str]:
    """What SQLite itself finds wrong with its files."""
    found = []
    for name in ("ledger.sqlite", "checkpoints.sqlite"):
        with _reading(root / "ledger" / name) as database:
            said = [row[0] for row in database.execute("PRAGMA integrity_check")]
        found += [f"{name}: {one}" for one in said if one != "ok"]
    return found


def left_behind(root: Path) -> int:
    """Runs that have ended and whose progress is still kept."""
    ended = {run.run_id for run in read(root).runs if run.status in ENDED}
    with _reading(root / "ledger" / "checkpoints.sqlite") as progress:
        return sum(row[0] in ended for row in progress.execute("SELECT DISTINCT thread_id FROM checkpoints"))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def _approval(row: sqlite3.Row) -> ApprovalRow:
    draft = json.loads(row["draft"])
    return ApprovalRow(
        approval_id=row["approval_id"],
        run_id=row["run_id"],
        attempt=row["attempt"],
        state=row["state"],
        on_reject=row["on_reject"],
        decision=(row["decided_by"], row["verdict"], row["edit"]) if row["verdict"] else None,
        draft=draft["text"],
        draft_status=draft["status"],
    )


def _run(row: sqlite3.Row, approvals: list[ApprovalRow], web: set[int]) -> RunRow:
    return RunRow(
        run_id=row["run_id"],
        question=row["question"],
        status=row["status"],
        problem=row["problem"],
        conversation=row["conversation"],
        turn=row["turn"],
        answer=json.loads(row["answer"]) if row["answer"] else None,
        approvals=approvals,
        web_attempts=web,
    )


def _observations(path: Path) -> tuple[list[dict[str, Any]], int]:
    found, torn = [], 0
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            torn += 1
    return found, torn
