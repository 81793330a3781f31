"""Kills an experiment at random moments and runs it again: every case must end once, with one run in the ledger.

    python -m benchmarks.campaigns.experiment_kills [--kills 50] [--cases 500] [--seed 1]

The cases ask the embedded parts, four at once. Prints how many results each process left, and every violation.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.campaigns.experiment_worker import NAME, SETTINGS, run_experiment
from benchmarks.campaigns.fork_server import HUNG, ForkServer
from veracity import Document, Veracity
from veracity.experiments.records import Records

MODULES = (
    "benchmarks.campaigns.experiment_worker",
    "veracity.evaluator",
    "veracity.experiments.running",
    "veracity.experiments.summary",
    "veracity.runs.factory",
)
TIMEOUT_SECONDS = 1800.0
EARLY = 0.2  # of the processes are killed while they open the workspace; the others after their first result
OPENING_SECONDS, FIRST_RESULT_SECONDS, WORKING_SECONDS = 1.0, 60.0, 0.4


@dataclass
class Tally:
    kills: int = 0
    finished_after: list[int] = field(default_factory=list)
    interrupted: int = 0
    violations: list[str] = field(default_factory=list)


def make_workspace(root: Path, cases: int) -> None:
    with Veracity(root, settings=SETTINGS) as engine:
        engine.add(Document(id=f"note-{n}", text=f"Room {n} has {n + 3} chairs and a window.") for n in range(20))
    (root / "evals").mkdir()
    rows = ({"id": f"case-{n}", "question": f"How many chairs has room {n % 20}?"} for n in range(cases))
    (root / "evals" / "rooms.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def run(server: ForkServer, root: Path, kills: int, cases: int, seed: int) -> Tally:
    make_workspace(root, cases)
    generator, tally = random.Random(seed), Tally()
    while tally.kills < kills and _count(root) < cases:
        before = _count(root)
        child = server.start(run_experiment, {"root": str(root)})
        if generator.random() < EARLY:
            time.sleep(generator.uniform(0, OPENING_SECONDS))
        else:
            end = time.monotonic() + FIRST_RESULT_SECONDS
            while _count(root) == before and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(generator.uniform(0, WORKING_SECONDS))
        child.kill()
        child.wait()
        tally.kills += 1
        tally.finished_after.append(_count(root))
    code = server.start(run_experiment, {"root": str(root)}).wait(TIMEOUT_SECONDS)
    if code:
        tally.violations.append("the last process hung" if code == HUNG else f"the last process ended with {code}")
    tally.violations += find_violations(root, cases)
    tally.interrupted = _count_resumed(root)
    return tally


def find_violations(root: Path, cases: int) -> Iterator[str]:
    results = list(Records.load(root / "experiments" / NAME).results())
    counts = Counter(result.case for result in results)
    yield from (f"{case} has {count} results" for case, count in counts.items() if count > 1)
    yield from (f"case-{n} has no result" for n in range(cases) if f"case-{n}" not in counts)
    yield from (f"{result.case} failed: {result.problem}" for result in results if result.status == "failed")
    with Veracity(root, settings=SETTINGS) as engine:
        runs = engine.runs(100_000, user=f"experiment:{NAME}")
        if len(runs) != cases:
            yield f"{len(runs)} runs for {cases} cases"
        by_id = {result.run_id: result for result in results}
        for started in runs:
            if started.run_id not in by_id:
                yield f"the run {started.run_id} ({started.status}) belongs to no result"
        for result in results[:: max(1, len(results) // 20)]:
            if engine.receipt(result.run_id).answer is None:
                yield f"the receipt of {result.case} has no answer"


def _count(root: Path) -> int:
    file = root / "experiments" / NAME / "results.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _count_resumed(root: Path) -> int:
    """Runs that more than one process worked on."""
    from sqlalchemy import create_engine, text

    database = create_engine(f"sqlite:///{root / 'ledger' / 'ledger.sqlite'}")
    with database.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM leases WHERE token > 1")).scalar() or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ForkServer(*MODULES) as server:
        tally = run(server, Path(folder) / "workspace", chosen.kills, chosen.cases, chosen.seed)
    print(f"{tally.kills} kills; {tally.interrupted} runs were interrupted and resumed")
    print(f"results after each kill: {', '.join(map(str, tally.finished_after))}")
    for violation in tally.violations:
        print(f"VIOLATION: {violation}")
    print(f"{len(tally.violations)} violations")
    sys.exit(bool(tally.violations))


if __name__ == "__main__":
    main()
