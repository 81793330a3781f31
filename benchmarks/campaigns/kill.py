"""Kills processes that ask, decide and recover on one workspace, and checks that nothing is lost or duplicated.

    python -m benchmarks.campaigns.kill [--kills 1000] [--seed 1]

Half of them kill themselves at a boundary: before and after every write to ledger, checkpoints and observations, before
every commit, within an observation, and at every event of a run. The others are killed at a random moment, the same for
the same seed as far as timing allows. In some steps two processes work concurrently, also on the same draft, and in
some a recovering process is killed too. Then a fresh process recovers, in under five seconds, and the files are
compared with what the engine reported. Drafts are approved, edited, rejected, sent back, held for a moment, or expire,
and a webhook gets an announcement of each. At the end all pending approvals are decided.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.campaigns import records, scenario, worker
from benchmarks.campaigns.fork_server import Child, ForkServer
from benchmarks.campaigns.invariants import Invariants
from benchmarks.campaigns.plan import Plan, PlannedJob
from benchmarks.campaigns.webhook import Received, receiving

MODULES = ("benchmarks.campaigns.worker", "veracity.evaluator", "veracity.runs.factory")
MAX_RECOVERY_SECONDS = 5.0
KILLED = -9  # exit code
BOUNDARY_TIMEOUT_SECONDS = 30.0
MAX_PRINTED_VIOLATIONS = 20
MAX_LAST_RECOVERIES = 200


@dataclass
class Tally:
    """Counts of a campaign."""

    at_boundaries: Counter[str] = field(default_factory=Counter)
    at_moments: Counter[str] = field(default_factory=Counter)  # by the last boundary that was passed
    jobs: Counter[str] = field(default_factory=Counter)
    unharmed: int = 0
    repeated: int = 0
    recoveries: list[float] = field(default_factory=list)
    resumed: int = 0
    violations: list[str] = field(default_factory=list)
    totals: dict[str, object] = field(default_factory=dict)

    @property
    def kills(self) -> int:
        return self.at_boundaries.total() + self.at_moments.total()


class Campaign:
    def __init__(
        self,
        server: ForkServer,
        folder: Path,
        seed: int,
        received: Received,
        max_recovery_seconds: float = MAX_RECOVERY_SECONDS,
    ) -> None:
        self._received = received
        self._max_recovery_seconds = max_recovery_seconds
        self.tally = Tally()
        self._server = server
        self._root, self._logs = folder / "workspace", folder / "logs"
        self._logs.mkdir()
        scenario.make_workspace(self._root)
        self._plan = Plan(seed, self._root, self._logs, received.url)
        self._seed = seed
        self._invariants = Invariants()
        self._step = 0
        self._step_jobs: list[PlannedJob] = []
        self._reported: set[str] = set()

    def run(self, kills: int) -> Tally:
        for _ in ("ask", "decide"):
            for planned in self._plan.rehearsal(self._pending()):
                self._run(planned)
        while self.tally.kills < kills:
            self._step += 1
            self._step_jobs.clear()
            planned_jobs = self._plan.step(self._step, self._pending())
            self._run(*planned_jobs)
            for repetition in self._plan.repetitions(self._step, planned_jobs):
                self._repeat(repetition)
            if recovery := self._plan.recovery(self._step):
                self._run(recovery)
            self._recover()
            self._check()
        self._settle()
        return self.tally

    def _pending(self) -> list[str]:
        return [approval.approval_id for approval in records.read(self._root).pending]

    def _start(self, planned: PlannedJob) -> Child:
        return self._server.start(worker.run, asdict(planned.job))

    def _run(self, *planned_jobs: PlannedJob) -> None:
        """Starts all jobs, then kills those with a moment, in order."""
        self._step_jobs += planned_jobs
        children = [(planned, self._start(planned)) for planned in planned_jobs]
        for planned, child in children:
            if planned.moment is not None:
                if not planned.is_early:
                    _wait_for_boundary(Path(planned.job.log))
                time.sleep(planned.moment)
                child.kill()
        for planned, child in children:
            self._count(planned, child.wait())

    def _count(self, planned: PlannedJob, exit_code: int) -> None:
        tally, lines = self.tally, self._read_log(planned)
        passed = [line[1] for line in lines if line[0] == "at"]
        tally.jobs[planned.name] += 1
        if exit_code == KILLED:
            counter = tally.at_moments if planned.moment is not None else tally.at_boundaries
            counter[passed[-1] if passed else "before anything"] += 1
        elif exit_code == 0 and lines and lines[-1] == ["done"]:
            tally.unharmed += 1
        else:
            self._violation(f"{planned} ended with {exit_code}")
        times = [line[2] for line in lines if line[0] == "at"]
        self._plan.learn(planned, Counter(passed), times[-1] - times[0] if times and exit_code == 0 else 0.0)

    def _repeat(self, planned: PlannedJob) -> None:
        """Repeats a decision with the same key: it succeeds exactly if the ledger has this decision."""
        self._run(planned)
        job, lines = planned.job, self._read_log(planned)
        stored = {row.approval_id: row.decision for row in records.read(self._root).approvals}[job.approval_id]
        is_accepted = any(line[0] == "decided" for line in lines)
        if is_accepted != (stored == (job.by, job.verdict, job.edit)):
            self._violation(f"{job.by} repeated its decision: the ledger has {stored}, the log ends with {lines[-3:]}")
        self.tally.repeated += 1

    def _recover(self) -> None:
        planned = PlannedJob(self._plan.make_job("recover", self._step, 9))
        exit_code = self._start(planned).wait()
        lines = self._read_log(planned)
        seconds = next((line[1] for line in lines if line[0] == "took"), None)
        if exit_code or seconds is None or seconds > self._max_recovery_seconds:
            self._violation(f"a recovery took {seconds} seconds and ended with {exit_code}")
            return
        self.tally.recoveries.append(seconds)
        self.tally.resumed += next(line[1] for line in lines if line[0] == "recovered")

    def _check(self, *, at_end: bool = False) -> None:
        for violation in self._invariants.check(records.read(self._root), at_end=at_end):
            self._violation(violation)

    def _settle(self) -> None:
        """Decides all pending approvals and asks once more, which delivers the remaining observations."""
        number = self._step + 1
        settle, ask = (self._plan.make_job(kind, number, place) for place, kind in enumerate(("settle", "ask")))
        for planned in map(PlannedJob, (settle, replace(ask, ticket=scenario.LAST_TICKET))):
            if exit_code := self._start(planned).wait():
                self._violation(f"settling ended with {exit_code}")
            self._read_log(planned)
        self._deliver_rest()
        self._check(at_end=True)
        last, reports = records.read(self._root), self._invariants.reports
        pending = (f"{row.approval_id} is still pending" for row in last.pending)
        for problem in (*records.damage(self._root), *pending, *self._received.check(last.approvals)):
            self._violation(problem)
        self.tally.totals = {
            "steps of the campaign": self._step,
            "runs": f"{len(last.runs)} ({_format_counts(Counter(run.status for run in last.runs))})",
            "questions killed before their run began": len(reports.asked) - len(last.runs),
            "approvals": f"{len(last.approvals)} ({_format_counts(Counter(row.state for row in last.approvals))})",
            "decisions confirmed": sum(map(len, reports.decided.values())),
            "decisions repeated with the same key": self.tally.repeated,
            "decisions refused as too late": reports.refused,
            "announcements": f"{sum(map(len, self._received.ids.values()))} in {self._received.requests} requests",
            "web searches": sum(bool(run.web_attempts) for run in last.runs),
            "observations": len(last.observations),
            "steps": sum(len(run.steps) for run in last.runs),
            "steps that a process showed": len(reports.shown_steps),
            "ended runs with leftover checkpoints": records.count_leftover_checkpoints(self._root),
        }

    def _deliver_rest(self) -> None:
        """Recoveries send announcements, a limited number each."""
        for place in range(MAX_LAST_RECOVERIES):
            time.sleep(scenario.CLAIM_SECONDS)
            before = self._received.requests
            self._start(PlannedJob(self._plan.make_job("recover", self._step + 2, place))).wait()
            if self._received.requests == before:
                return

    def _read_log(self, planned: PlannedJob) -> list[list[Any]]:
        path = Path(planned.job.log)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        self._invariants.reports.read(lines)
        return lines

    def _violation(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            jobs = "".join(f"\n    {planned}" for planned in self._step_jobs)
            self.tally.violations.append(f"seed {self._seed}, step {self._step}: {problem}{jobs}")


def _wait_for_boundary(log: Path) -> None:
    """Returns at the first boundary, or when the process ends without one."""
    end = time.monotonic() + BOUNDARY_TIMEOUT_SECONDS
    while time.monotonic() < end:
        content = log.read_bytes() if log.exists() else b""
        if b'["at"' in content or b'["done"' in content:
            return
        time.sleep(0.003)


def print_tally(tally: Tally, import_seconds: float) -> None:
    names = sorted(tally.at_boundaries | tally.at_moments, key=lambda name: (name.split()[-1], name))
    print("\n| last boundary | killed at it | killed at a random moment after it |\n|---|---:|---:|")
    for name in names:
        print(f"| {name} | {tally.at_boundaries[name]} | {tally.at_moments[name]} |")
    print(f"| **all** | **{tally.at_boundaries.total()}** | **{tally.at_moments.total()}** |")
    slowest = max(tally.recoveries, default=0.0)
    median = statistics.median_high(tally.recoveries) if tally.recoveries else 0.0
    times = f"{slowest:.2f} s with opening (median {median:.2f} s; imports {import_seconds:.1f} s, once)"
    rows = {
        "kills": tally.kills,
        "processes": _format_counts(tally.jobs),
        "processes that ended unharmed": tally.unharmed,
        **tally.totals,
        "recoveries": f"{len(tally.recoveries)}, which resumed {tally.resumed} runs",
        "slowest recovery": times,
        "violations": len(tally.violations),
    }
    print("\n| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")
    for violation in tally.violations[:MAX_PRINTED_VIOLATIONS]:
        print(f"VIOLATION {violation}")


def _format_counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder, started = Path(tempfile.mkdtemp()), time.monotonic()
    with receiving() as received, ForkServer(*MODULES) as server:
        tally = Campaign(server, folder, options.seed, received).run(options.kills)
    print_tally(tally, server.import_seconds)
    print(f"\n{time.monotonic() - started:.0f} seconds, seed {options.seed}")
    if tally.violations:
        sys.exit(f"The workspace and the logs are in {folder}.")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
