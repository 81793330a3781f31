"""Races two processes that decide on the same draft: exactly one must win, and the other must get an error.

    python -m benchmarks.campaigns.races [--races 1000] [--seed 1] [--postgres]

A barrier before each draft starts both within a fraction of a millisecond; then each sleeps for up to a millisecond, by
seed. Each approves, edits or rejects, never both the same. The winner resumes the run. With `--postgres`, the ledger
is in a Postgres of the campaign's own, else in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.postgres import running_cluster

from benchmarks.campaigns import records, scenario
from benchmarks.campaigns.fork_server import ForkServer
from benchmarks.campaigns.invariants import Invariants
from benchmarks.campaigns.race_worker import SIDES, prepare, race

MODULES = ("benchmarks.campaigns.race_worker", "veracity.evaluator", "veracity.runs.factory")


@dataclass(frozen=True)
class RaceResult:
    races: int
    wins: Counter[str]
    verdicts: Counter[str]
    refused: int
    seconds_apart: list[float]
    violations: list[str]


def run(server: ForkServer, folder: Path, count: int, seed: int, url: str = "") -> RaceResult:
    """`url` is that of a Postgres for the ledger."""
    root, logs = folder / "workspace", [folder / f"{name}.log" for name in (*SIDES, "ask")]
    scenario.make_workspace(root)
    tickets = [n for n in range(1, 2 * count + 9) if scenario.outcome_of(n) != scenario.HIGH_SCORE][:count]
    common = {"root": str(root), "seed": seed, "url": url}
    _run_all(server, [(prepare, {**common, "log": str(logs[-1]), "tickets": tickets})])
    approvals = [row.approval_id for row in records.read(root, url).pending]
    for name in SIDES:
        os.mkfifo(folder / name)
    sides = [
        {**common, "side": side, "log": str(log), "meeting": str(folder)}
        for side, log in zip(SIDES, logs, strict=False)
    ]
    _run_all(server, [(race, {**side, "approvals": approvals}) for side in sides])
    lines = [[json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for log in logs]
    return _make_result(records.read(root, url), count, approvals, lines)


def _make_result(stored: records.Records, count: int, approvals: list[str], lines: list[list[list[Any]]]) -> RaceResult:
    invariants = Invariants()
    for log in lines:
        invariants.reports.read(log)
    violations = invariants.check(stored, at_end=True)
    decisions = {row.approval_id: row.decision for row in stored.approvals}
    winners = [(decisions[name] or ("nobody", "", None)) for name in approvals]
    refusals = [line[1] for log in lines for line in log if line[0] == "refused"]
    for number, (name, (by, _, _)) in enumerate(zip(approvals, winners, strict=True)):
        errors = [message for message in refusals if f'"{name}"' in message]
        if len(errors) != 1 or f'"{by}"' not in errors[0]:
            violations.append(f"race {number} on {name}: {by} won, and the other got {errors}")
    starts = [{line[1]: line[2] for line in log if line[0] == "off"} for log in lines[:2]]
    seconds_apart = [abs(starts[0][number] - starts[1][number]) for number in range(len(approvals))]
    wins = Counter(by.partition("-")[0] for by, _, _ in winners)
    kinds = Counter(verdict if edit is None else "edit" for _, verdict, edit in winners)
    if len(approvals) != count:
        violations.append(f"{count} races were planned, and {len(approvals)} drafts are pending")
    return RaceResult(len(approvals), wins, kinds, len(refusals), seconds_apart, violations)


def _run_all(server: ForkServer, tasks: list[tuple[Any, dict[str, Any]]]) -> None:
    children = [server.start(task, options) for task, options in tasks]
    exit_codes = [child.wait(timeout=1800.0) for child in children]
    if any(exit_codes):
        raise AssertionError(f"processes ended with {exit_codes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="with the ledger in Postgres")
    options = parser.parse_args()
    folder, started = Path(tempfile.mkdtemp()), time.monotonic()
    with ForkServer(*MODULES) as server, ExitStack() as stack:
        url = stack.enter_context(running_cluster()).url if options.postgres else ""
        result = run(server, folder, options.races, options.seed, url)
    rows = {
        "ledger": "Postgres" if options.postgres else "SQLite",
        "races": result.races,
        "won by": ", ".join(f"{side} {count}" for side, count in sorted(result.wins.items())),
        "winning decisions": ", ".join(f"{verdict} {count}" for verdict, count in sorted(result.verdicts.items())),
        "refused as too late": result.refused,
        "apart": f"{1000 * statistics.median(result.seconds_apart):.2f} ms (median)",
        "violations": len(result.violations),
    }
    print("| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")
    print(f"\n{time.monotonic() - started:.0f} seconds, seed {options.seed}")
    for violation in result.violations[:20]:
        print(f"VIOLATION seed {options.seed}: {violation}")
    if result.violations:
        sys.exit(f"The workspace and the logs are in {folder}.")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
