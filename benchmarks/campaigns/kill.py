"""Processes ask, wait and decide on a workspace and are killed, again and again: is anything lost, or there twice?

    python -m benchmarks.campaigns.kill [--kills 1000] [--seed 1]

Half of them kill themselves at a boundary, each in its turn: before and after every write to ledger, checkpoints and
observations, before every commit, amid an observation, and at every event of a run. The others are killed at a random
moment, the same with the same seed as far as a machine allows. At times two work at once, on the same draft too, and at
times whoever takes up what was left is killed as well. Then a fresh process recovers, in under five seconds, and the
files are compared with what anybody was told. At the end all that waits is decided.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.campaigns import records, stage, worker
from benchmarks.campaigns.forking import Child, ForkServer
from benchmarks.campaigns.plan import Plan, Planned
from benchmarks.campaigns.tally import Tally, counted, print_tally
from benchmarks.campaigns.truth import Truth, lacks_search

MODULES = ("benchmarks.campaigns.worker", "veracity.evaluator", "veracity.runs.factory")
SECONDS = 5.0  # that a recovery may take
KILLED = -9
PATIENCE = 30.0  # seconds until a process that is to be killed must have begun


class Campaign:
    def __init__(self, server: ForkServer, folder: Path, seed: int) -> None:
        self.tally = Tally()
        self._server = server
        self._root, self._logs = folder / "workspace", folder / "logs"
        self._logs.mkdir()
        stage.make_workspace(self._root)
        self._plan = Plan(seed, self._root, self._logs)
        self._seed = seed
        self._truth = Truth()
        self._step = 0
        self._played: list[Planned] = []  # of this step
        self._known: set[str] = set()

    def run(self, kills: int) -> Tally:
        for _ in ("asking", "deciding"):
            for rehearsed in self._plan.rehearsal(self._pending()):
                self._play(rehearsed)
        while self.tally.kills < kills:
            self._step += 1
            self._played.clear()
            planned = self._plan.step(self._step, self._pending())
            self._play(*planned)
            for again in self._plan.again(self._step, planned):
                self._try_again(again)
            if recovery := self._plan.recovery(self._step):
                self._play(recovery)
            self._recover()
            self._check()
        self._settle()
        return self.tally

    def _pending(self) -> list[str]:
        return [one.approval_id for one in records.read(self._root).pending]

    def _start(self, planned: Planned) -> Child:
        return self._server.start(worker.do, asdict(planned.job))

    def _play(self, *planned: Planned) -> None:
        """Together, one killed after the other."""
        self._played += planned
        children = [(one, self._start(one)) for one in planned]
        for one, child in children:
            if one.moment is not None:
                if not one.early:
                    _wait_for_boundary(Path(one.job.log))
                time.sleep(one.moment)
                child.kill()
        for one, child in children:
            self._count(one, child.wait())

    def _count(self, planned: Planned, ended: int) -> None:
        tally, lines = self.tally, self._read(planned)
        passed = [line[1] for line in lines if line[0] == "at"]
        tally.jobs[planned.name] += 1
        if ended == KILLED:
            where = tally.at_moments if planned.moment is not None else tally.at_boundaries
            where[passed[-1] if passed else "before anything"] += 1
        elif ended == 0 and lines and lines[-1] == ["done"]:
            tally.unharmed += 1
        else:
            self._violated(f"{planned} ended with {ended}")
        times = [line[2] for line in lines if line[0] == "at"]
        self._plan.learn(planned, Counter(passed), times[-1] - times[0] if times and ended == 0 else 0.0)

    def _try_again(self, planned: Planned) -> None:
        """Who had decided is told so once more; who had not may still do so, or comes too late."""
        self._play(planned)
        job, lines = planned.job, self._read(planned)
        counts = {one.approval_id: one.decision for one in records.read(self._root).approvals}[job.approval_id]
        is_told = any(line[0] == "decided" for line in lines)
        if is_told != (counts == (job.by, job.verdict, job.edit)):
            self._violated(f"{job.by} tried again, {counts} is in the ledger, and {lines[-3:]} was told")
        self.tally.tried_again += 1

    def _recover(self) -> None:
        planned = Planned(self._plan.plain("recover", self._step, 9))
        ended = self._start(planned).wait()
        lines = self._read(planned)
        took = next((line[1] for line in lines if line[0] == "took"), None)
        if ended or took is None or took > SECONDS:
            self._violated(f"a recovery took {took} seconds and ended with {ended}")
            return
        self.tally.recoveries.append(took)
        self.tally.taken_up += next(line[1] for line in lines if line[0] == "recovered")

    def _check(self, *, at_end: bool = False) -> None:
        for found in self._truth.check(records.read(self._root), at_end=at_end):
            self._violated(found)

    def _settle(self) -> None:
        """Decide all that waits, and ask once more: its end delivers what was left to be delivered."""
        number = self._step + 1
        jobs = (self._plan.plain("settle", number, 0), replace(self._plan.plain("ask", number, 1), ticket=stage.LAST))
        for planned in map(Planned, jobs):
            if ended := self._start(planned).wait():
                self._violated(f"settling ended with {ended}")
            self._read(planned)
        self._check(at_end=True)
        last, told = records.read(self._root), self._truth.told
        for found in (*records.damage(self._root), *(f"{one.approval_id} still waits" for one in last.pending)):
            self._violated(found)
        self.tally.numbers = {
            "steps": self._step,
            "runs": f"{len(last.runs)} ({counted(Counter(run.status for run in last.runs))})",
            "questions killed before the run had begun": len(told.asked) - len(last.runs),
            "approvals": f"{len(last.approvals)} ({counted(Counter(one.state for one in last.approvals))})",
            "decisions that were told": sum(map(len, told.decided.values())),
            "decisions tried again under the same key": self.tally.tried_again,
            "deciders told that they came too late": told.refused,
            "searches of the web": sum(bool(run.web_attempts) or lacks_search(run) for run in last.runs),
            "observations": len(last.observations),
            "runs that searched the web, and whose receipt lacks it": sum(map(lacks_search, last.runs)),
            "ended runs whose progress is still kept": records.left_behind(self._root),
        }

    def _read(self, planned: Planned) -> list[list[Any]]:
        path = Path(planned.job.log)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        self._truth.told.read(lines)
        return lines

    def _violated(self, what: str) -> None:
        if what not in self._known:
            self._known.add(what)
            played = "".join(f"\n    {one}" for one in self._played)
            self.tally.violations.append(f"seed {self._seed}, step {self._step}: {what}{played}")


def _wait_for_boundary(log: Path) -> None:
    """The first one, or the end of a process that comes to none."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        said = log.read_bytes() if log.exists() else b""
        if b'["at"' in said or b'["done"' in said:
            return
        time.sleep(0.003)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    folder, began = Path(tempfile.mkdtemp()), time.monotonic()
    with ForkServer(*MODULES) as server:
        tally = Campaign(server, folder, chosen.seed).run(chosen.kills)
    print_tally(tally, server.imports)
    print(f"\n{time.monotonic() - began:.0f} seconds, seed {chosen.seed}")
    if tally.violations:
        sys.exit(f"What was left is in {folder}.")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
