"""Reads a workspace without the engine: its databases and its observations."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

ENDED = ("answered", "abstained", "rejected", "failed")


@dataclass(frozen=True)
class ApprovalRow:
    """`decision` is user, verdict and edit; None while it is pending."""

    approval_id: str
    run_id: str
    attempt: int
    state: str
    on_reject: str
    decision: tuple[str, str, str | None] | None
    draft: str
    draft_status: str


@dataclass(frozen=True)
class StepRow:
    name: str
    started: datetime
    facts: dict[str, Any]


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
    steps: list[StepRow]

    @property
    def web_attempts(self) -> list[int]:
        return [step.facts["attempt"] for step in self.steps if step.name == "web_search"]


@dataclass(frozen=True)
class Records:
    """`undelivered` observations (run id and attempt) are not yet in the file; `torn` counts its invalid lines."""

    runs: list[RunRow]
    undelivered: set[tuple[str, int]] = field(default_factory=set)
    observations: list[dict[str, Any]] = field(default_factory=list)
    torn: int = 0

    @property
    def approvals(self) -> list[ApprovalRow]:
        return [approval for run in self.runs for approval in run.approvals]

    @property
    def pending(self) -> list[ApprovalRow]:
        return [approval for approval in self.approvals if approval.state == "pending"]


def read(root: Path, url: str = "") -> Records:
    """`url` is that of a ledger in Postgres."""
    path = root / "ledger" / "ledger.sqlite"
    if not url and not path.exists():
        return Records([])
    with _connect_postgres(url) if url else _connect(path) as ledger:
        approvals: dict[str, list[ApprovalRow]] = defaultdict(list)
        for row in ledger.execute("SELECT * FROM approvals ORDER BY number"):
            approvals[row["run_id"]].append(_approval(row))
        steps: dict[str, list[StepRow]] = defaultdict(list)
        for row in ledger.execute("SELECT * FROM steps ORDER BY run_id, seq"):
            started = datetime.fromisoformat(str(row["started"])).replace(tzinfo=UTC)
            steps[row["run_id"]].append(StepRow(row["name"], started, _load(row["facts"])))
        rows = ledger.execute("SELECT * FROM runs ORDER BY number").fetchall()
        unsettled = ledger.execute("SELECT run_id, attempt FROM outbox WHERE state IN ('pending', 'delivering')")
        undelivered = {(row["run_id"], row["attempt"]) for row in unsettled}
    runs = [_run(row, approvals[row["run_id"]], steps[row["run_id"]]) for row in rows]
    return Records(runs, undelivered, *_observations(root / "observational_data.json"))


def damage(root: Path) -> list[str]:
    """Problems that SQLite's integrity check reports."""
    problems = []
    for name in ("ledger.sqlite", "checkpoints.sqlite"):
        with _connect(root / "ledger" / name) as database:
            lines = [row[0] for row in database.execute("PRAGMA integrity_check")]
        problems += [f"{name}: {line}" for line in lines if line != "ok"]
    return problems


def count_leftover_checkpoints(root: Path) -> int:
    """The number of ended runs that still have checkpoints."""
    ended = {run.run_id for run in read(root).runs if run.status in ENDED}
    with _connect(root / "ledger" / "checkpoints.sqlite") as checkpoints:
        return sum(row[0] in ended for row in checkpoints.execute("SELECT DISTINCT thread_id FROM checkpoints"))


@contextlib.contextmanager
def _connect(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")  # one snapshot for all queries
        yield connection


@contextlib.contextmanager
def _connect_postgres(url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield connection


def _load(value: Any) -> Any:
    """JSON, which psycopg has parsed already."""
    return json.loads(value) if isinstance(value, str) else value


def _approval(row: Any) -> ApprovalRow:
    draft = _load(row["draft"])
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


def _run(row: Any, approvals: list[ApprovalRow], steps: list[StepRow]) -> RunRow:
    return RunRow(
        run_id=row["run_id"],
        question=row["question"],
        status=row["status"],
        problem=row["problem"],
        conversation=row["conversation"],
        turn=row["turn"],
        answer=_load(row["answer"]),
        approvals=approvals,
        steps=steps,
    )


def _observations(path: Path) -> tuple[list[dict[str, Any]], int]:
    records, torn = [], 0
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else []:
        try:
            records.append(json.loads(line))
        except ValueError:
            torn += 1
    return records, torn
