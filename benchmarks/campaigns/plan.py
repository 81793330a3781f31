"""Plans the jobs of a kill campaign and when they are killed, from the seed and what earlier steps showed.

Drafts are chosen by their index among the pending ones, so that a plan can be replayed.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.campaigns.worker import Job

CONVERSATIONS = ("", "", "planning", "move", "引っ越し")
CONCURRENT_SHARE = 0.3  # of the steps run two processes
KILLED_RECOVERY_SHARE = 0.3  # of the steps also kill a recovering process
REPEATED_SHARE = 0.4  # of the decisions
MAX_PENDING = 12  # drafts; beyond it steps only decide
EXPIRING_SHARE = 0.15  # of the questions leave drafts that expire
EXPIRES_SECONDS, HOLD_SECONDS = 0.5, 0.05
NOTE = "Say it again."
EARLY_SHARE = 0.1  # of the kills at a random moment may come while the workspace is being opened
REHEARSED_QUESTIONS = 6  # more than three of them wait for approval


@dataclass(frozen=True)
class PlannedJob:
    """Killed `moment` seconds after its first boundary, or after its start if `is_early`.

    Without a moment the job kills itself if `job.die_at` is set.
    """

    job: Job
    moment: float | None = None
    is_early: bool = False

    def __str__(self) -> str:
        subject = self.job.approval_id or (f"ticket {self.job.ticket}" if self.job.ticket else "")
        since = "its start" if self.is_early else "its first boundary"
        boundary = f'at "{self.job.die_at}", time {self.job.nth}' if self.job.die_at else "never"
        killed = boundary if self.moment is None else f"{self.moment:.3f} s after {since}"
        return f"{self.name} {subject}, to be killed {killed}: {self.job.log}"

    @property
    def name(self) -> str:
        """Jobs with the same name have the same boundaries."""
        edited = " with an edit" if self.job.edit is not None else " held" if self.job.hold else ""
        return f"{self.job.verdict}{edited}" if self.job.kind == "decide" else self.job.kind


class Plan:
    def __init__(self, seed: int, root: Path, logs: Path, webhook: str = "") -> None:
        self._webhook = webhook
        self._seed = seed
        self._root = root
        self._logs = logs
        self._boundaries: dict[str, Counter[str]] = defaultdict(Counter)  # job name to boundaries and how often
        self._killed_at: Counter[tuple[str, str]] = Counter()  # job name and boundary
        self._seconds: dict[str, float] = {}
        self._tickets = 0

    def step(self, number: int, pending: list[str]) -> list[PlannedJob]:
        """The jobs of a step, which run concurrently. The first is killed, the others half of the time."""
        generator = random.Random(f"{self._seed}/{number}")
        count = 2 if generator.random() < CONCURRENT_SHARE else 1
        jobs = [self._job(generator, number, place, pending) for place in range(count)]
        if count == 2 and jobs[0].kind == "decide" and generator.random() < 0.7:
            jobs[1] = replace(self._decide(generator, number, 1, pending), approval_id=jobs[0].approval_id)
        return [
            self._kill(generator, job) if not place or generator.random() < 0.5 else PlannedJob(job)
            for place, job in enumerate(jobs)
        ]

    def recovery(self, number: int) -> PlannedJob | None:
        """A recovery that is killed; None for most steps."""
        generator = random.Random(f"{self._seed}/{number}/recovery")
        if generator.random() >= KILLED_RECOVERY_SHARE:
            return None
        return self._kill(generator, self.make_job("recover", number, 8))

    def repetitions(self, number: int, planned_jobs: list[PlannedJob]) -> list[PlannedJob]:
        """Some of the decisions again, with the same key and without a kill."""
        generator = random.Random(f"{self._seed}/{number}/again")
        decisions = [
            planned.job
            for planned in planned_jobs
            if planned.job.kind == "decide" and generator.random() < REPEATED_SHARE
        ]
        return [PlannedJob(replace(job, die_at="", log=f"{job.log}-again")) for job in decisions]

    def make_job(self, kind: str, number: int, place: int) -> Job:
        log = self._logs / f"{number}-{place}"
        by = f"{kind}-{number}-{place}"
        return Job(kind, str(self._root), str(log), by=by, webhook=self._webhook)  # type: ignore[arg-type]

    def rehearsal(self, pending: list[str]) -> list[PlannedJob]:
        """Jobs that are not killed, to learn their boundaries: first questions, then a decision of each kind."""
        if not pending:
            return [PlannedJob(self._ask(0, place)) for place in range(REHEARSED_QUESTIONS)]
        send_back = {"verdict": "send_back", "reason": NOTE}
        decisions: list[dict[str, Any]] = [{}, {"verdict": "reject"}, {"edit": "It seats seven. [1]"}, send_back]
        return [
            PlannedJob(
                replace(self.make_job("decide", 0, REHEARSED_QUESTIONS + place), approval_id=pending[place], **decision)
            )
            for place, decision in enumerate(decisions)
        ]

    def learn(self, planned: PlannedJob, boundaries: Counter[str], seconds: float) -> None:
        """Records the boundaries of a job and, if it was not killed, the seconds from the first to the last."""
        self._boundaries[planned.name] |= boundaries
        if seconds:
            before = self._seconds.get(planned.name, seconds)
            self._seconds[planned.name] = 0.8 * before + 0.2 * seconds

    def _job(self, generator: random.Random, number: int, place: int, pending: list[str]) -> Job:
        if pending and (len(pending) > MAX_PENDING or generator.random() < 0.5):
            return self._decide(generator, number, place, pending)
        expires = EXPIRES_SECONDS if generator.random() < EXPIRING_SHARE else 0.0
        return replace(self._ask(number, place), conversation=generator.choice(CONVERSATIONS), expires=expires)

    def _ask(self, number: int, place: int) -> Job:
        self._tickets += 1
        return replace(self.make_job("ask", number, place), ticket=self._tickets)

    def _decide(self, generator: random.Random, number: int, place: int, pending: list[str]) -> Job:
        job = replace(self.make_job("decide", number, place), approval_id=pending[generator.randrange(len(pending))])
        match generator.randrange(8):
            case 0 | 1:
                return replace(job, verdict="reject")
            case 2 | 3:
                return replace(job, verdict="send_back", reason=NOTE)
            case 4:
                return replace(job, hold=HOLD_SECONDS)
            case 5:
                return replace(job, edit=f"Meeting room 1 seats {number} staff, says {job.by}. [1]")
        return job

    def _kill(self, generator: random.Random, job: Job) -> PlannedJob:
        """Plans a kill at the boundary with the fewest kills so far, or at a random moment."""
        name = PlannedJob(job).name
        boundaries = self._boundaries[name]
        if not boundaries or generator.random() < 0.5:
            is_early = generator.random() < EARLY_SHARE
            longest = 0.2 if is_early else self._seconds.get(name, 0.1)
            return PlannedJob(job, generator.uniform(0.0, longest), is_early)
        fewest = min(self._killed_at[name, boundary] for boundary in boundaries)
        candidates = [boundary for boundary in sorted(boundaries) if self._killed_at[name, boundary] == fewest]
        boundary = generator.choice(candidates)
        self._killed_at[name, boundary] += 1
        return PlannedJob(replace(job, die_at=boundary, nth=generator.randint(1, boundaries[boundary])))
