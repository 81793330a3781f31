"""Two processes decide on the same draft at once, again and again: does exactly one win, and is the other told?

    python -m benchmarks.campaigns.races [--races 1000] [--seed 1]

They meet before each draft, so that both begin within a fraction of a millisecond; then each waits for up to one
more, as the seed says. One approves, edits or rejects, the other does another of these. Whoever wins carries it out.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.campaigns import records, stage
from benchmarks.campaigns.forking import ForkServer
from benchmarks.campaigns.racing import SIDES, prepare, race
from benchmarks.campaigns.truth import Truth

MODULES = ("benchmarks.campaigns.racing", "veracity.evaluator", "veracity.runs.factory")


@dataclass(frozen=True)
class Outcome:
    races: int
    wins: Counter[str]
    verdicts: Counter[str]
    refused: int
    apart: list[float]  # seconds between the two
    violations: list[str]


def run(server: ForkServer, folder: Path, count: int, seed: int) -> Outcome:
    root, logs = folder / "workspace", [folder / f"{name}.log" for name in (*SIDES, "asking")]
    stage.make_workspace(root)
    waiting = [ticket for ticket in range(1, 2 * count + 9) if stage.fate(ticket) != stage.STANDS][:count]
    plain = {"root": str(root), "seed": seed}
    _run_all(server, [(prepare, {**plain, "log": str(logs[-1]), "tickets": waiting})])
    approvals = [one.approval_id for one in records.read(root).pending]
    for name in SIDES:
        os.mkfifo(folder / name)
    sides = [
        {**plain, "side": side, "log": str(log), "meeting": str(folder)} for side, log in zip(SIDES, logs, strict=False)
    ]
    _run_all(server, [(race, {**one, "approvals": approvals}) for one in sides])
    lines = [[json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for log in logs]
    return _outcome(root, count, approvals, lines)


def _outcome(root: Path, count: int, approvals: list[str], lines: list[list[list[Any]]]) -> Outcome:
    truth = Truth()
    for said in lines:
        truth.told.read(said)
    found = records.read(root)
    violations = truth.check(found, at_end=True)
    decided = {one.approval_id: one.decision for one in found.approvals}
    winners = [(decided[name] or ("nobody", "", None)) for name in approvals]
    refusals = [line[1] for said in lines for line in said if line[0] == "refused"]
    for number, (name, (by, _, _)) in enumerate(zip(approvals, winners, strict=True)):
        about = [one for one in refusals if f'"{name}"' in one]
        if len(about) != 1 or f'"{by}"' not in about[0]:
            violations.append(f"race {number} on {name}: {by} won, and the other was told {about}")
    off = [{line[1]: line[2] for line in said if line[0] == "off"} for said in lines[:2]]
    apart = [abs(off[0][number] - off[1][number]) for number in range(len(approvals))]
    wins = Counter(by.partition("-")[0] for by, _, _ in winners)
    kinds = Counter(verdict if edit is None else "edit" for _, verdict, edit in winners)
    if len(approvals) != count:
        violations.append(f"{count} races were wanted, and {len(approvals)} drafts waited")
    return Outcome(len(approvals), wins, kinds, len(refusals), apart, violations)


def _run_all(server: ForkServer, tasks: list[tuple[Any, dict[str, Any]]]) -> None:
    children = [server.start(task, given) for task, given in tasks]
    ends = [child.wait(patience=1800.0) for child in children]
    if any(ends):
        raise AssertionError("a process did not end as it should")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    folder, began = Path(tempfile.mkdtemp()), time.monotonic()
    with ForkServer(*MODULES) as server:
        outcome = run(server, folder, chosen.races, chosen.seed)
    rows = {
        "races": outcome.races,
        "won by": ", ".join(f"{side} {count}" for side, count in sorted(outcome.wins.items())),
        "what won": ", ".join(f"{what} {count}" for what, count in sorted(outcome.verdicts.items())),
        "told that they came too late": outcome.refused,
        "apart": f"{1000 * statistics.median(outcome.apart):.2f} ms (median)",
        "violations": len(outcome.violations),
    }
    print("| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")
    print(f"\n{time.monotonic() - began:.0f} seconds, seed {chosen.seed}")
    for violation in outcome.violations[:20]:
        print(f"VIOLATION seed {chosen.seed}: {violation}")
    if outcome.violations:
        sys.exit(f"What was left is in {folder}.")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
