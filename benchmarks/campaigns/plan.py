"""What the processes of a kill campaign do, and when they are killed: from the seed and what earlier steps showed.

Which draft is decided on is told by its place among those that wait, so that a plan can be played again.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.campaigns.worker import Job

CONVERSATIONS = ("", "", "planning", "move", "引っ越し")
RIVALS = 0.3  # of the steps have two processes at once
KILLED_RECOVERIES = 0.3  # of the steps kill also who takes up what was left
TRIED_AGAIN = 0.4  # of the decisions
MOST_WAITING = 12  # drafts, until deciding is all there is to do
EARLY = 0.1  # of the kills at a moment: also while the workspace is being opened
REHEARSED = 6  # questions, of which more than three wait for a person


@dataclass(frozen=True)
class Planned:
    """`moment` is when whoever drives kills it: seconds after its first boundary, or after its start if it is `early`.
    Without one it kills itself, where `job.die_at` is set."""

    job: Job
    moment: float | None = None
    early: bool = False

    def __str__(self) -> str:
        about = self.job.approval_id or (f"ticket {self.job.ticket}" if self.job.ticket else "")
        since = "its start" if self.early else "its first boundary"
        at = f'at "{self.job.die_at}", time {self.job.time}' if self.job.die_at else "never"
        killed = at if self.moment is None else f"{self.moment:.3f} s after {since}"
        return f"{self.name} {about}, to be killed {killed}: {self.job.log}"

    @property
    def name(self) -> str:
        """What it does, as far as boundaries go."""
        edited = " with an edit" if self.job.edit is not None else ""
        return f"{self.job.verdict}{edited}" if self.job.kind == "decide" else self.job.kind


class Plan:
    def __init__(self, seed: int, root: Path, logs: Path) -> None:
        self._seed = seed
        self._root = root
        self._logs = logs
        self._boundaries: dict[str, Counter[str]] = defaultdict(Counter)  # that jobs of a name have, and how often
        self._killed_at: Counter[tuple[str, str]] = Counter()  # jobs of a name that were sent to a boundary
        self._seconds: dict[str, float] = {}
        self._tickets = 0

    def step(self, number: int, pending: list[str]) -> list[Planned]:
        """Those who work at the same time. The first of them is to be killed, the others at times."""
        chance = random.Random(f"{self._seed}/{number}")
        count = 2 if chance.random() < RIVALS else 1
        jobs = [self._job(chance, number, place, pending) for place in range(count)]
        if count == 2 and jobs[0].kind == "decide" and chance.random() < 0.7:
            jobs[1] = replace(self._deciding(chance, number, 1, pending), approval_id=jobs[0].approval_id)
        return [
            self._killed(chance, job) if not place or chance.random() < 0.5 else Planned(job)
            for place, job in enumerate(jobs)
        ]

    def recovery(self, number: int) -> Planned | None:
        """Who takes up what was left, and is killed too; not after every step."""
        chance = random.Random(f"{self._seed}/{number}/recovery")
        if chance.random() >= KILLED_RECOVERIES:
            return None
        return self._killed(chance, self.plain("recover", number, 8))

    def again(self, number: int, played: list[Planned]) -> list[Planned]:
        """Of those who were to be killed while they decided, some try once more, under the same key."""
        chance = random.Random(f"{self._seed}/{number}/again")
        deciding = [one.job for one in played if one.job.kind == "decide" and chance.random() < TRIED_AGAIN]
        return [Planned(replace(job, die_at="", log=f"{job.log}-again")) for job in deciding]

    def plain(self, kind: str, number: int, place: int) -> Job:
        log = self._logs / f"{number}-{place}"
        return Job(kind, str(self._root), str(log), by=f"{kind}-{number}-{place}")  # type: ignore[arg-type]

    def rehearsal(self, pending: list[str]) -> list[Planned]:
        """One of each kind, to know its boundaries: first questions, then decisions on what waits of them."""
        if not pending:
            return [Planned(self._ask(0, place)) for place in range(REHEARSED)]
        ways: list[dict[str, Any]] = [{}, {"verdict": "reject"}, {"edit": "It seats seven. [1]"}]
        return [
            Planned(replace(self.plain("decide", 0, REHEARSED + place), approval_id=pending[place], **way))
            for place, way in enumerate(ways)
        ]

    def learn(self, planned: Planned, boundaries: Counter[str], seconds: float) -> None:
        """Which there were, and how long it took from the first to the last, when nobody was killed."""
        self._boundaries[planned.name] |= boundaries
        if seconds:
            before = self._seconds.get(planned.name, seconds)
            self._seconds[planned.name] = 0.8 * before + 0.2 * seconds

    def _job(self, chance: random.Random, number: int, place: int, pending: list[str]) -> Job:
        if pending and (len(pending) > MOST_WAITING or chance.random() < 0.5):
            return self._deciding(chance, number, place, pending)
        return replace(self._ask(number, place), conversation=chance.choice(CONVERSATIONS))

    def _ask(self, number: int, place: int) -> Job:
        self._tickets += 1
        return replace(self.plain("ask", number, place), ticket=self._tickets)

    def _deciding(self, chance: random.Random, number: int, place: int, pending: list[str]) -> Job:
        job = replace(self.plain("decide", number, place), approval_id=pending[chance.randrange(len(pending))])
        match chance.randrange(5):
            case 0 | 1:
                return replace(job, verdict="reject")
            case 2:
                return replace(job, edit=f"Meeting room 1 seats {number} staff, says {job.by}. [1]")
        return job

    def _killed(self, chance: random.Random, job: Job) -> Planned:
        """At a boundary at which such jobs were killed least, or at any moment."""
        name = Planned(job).name
        known = self._boundaries[name]
        if not known or chance.random() < 0.5:
            early = chance.random() < EARLY
            return Planned(job, chance.uniform(0.0, 0.2 if early else self._seconds.get(name, 0.1)), early)
        spared = min(self._killed_at[name, one] for one in known)
        where = chance.choice([one for one in sorted(known) if self._killed_at[name, one] == spared])
        self._killed_at[name, where] += 1
        return Planned(replace(job, die_at=where, time=chance.randint(1, known[where])))
