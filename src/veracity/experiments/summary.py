"""What came of one experiment: rates and scores with intervals, slices, flaky cases, and what was not run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.experiments.intervals import Interval, mean_interval, share_interval
from veracity.experiments.records import CaseResult, Manifest, Records
from veracity.models import Usage

MAX_LISTED = 1000  # cases that did not pass
MAX_POINTS = 200  # of the risk–coverage curve
SCORE_BOUNDS = (0.0, 100.0)

Bounds = tuple[float, float]


@dataclass(slots=True)
class CaseRow:
    """One case with the outcomes of its repeats."""

    case: str
    digest: str
    group: str
    language: str
    tags: tuple[str, ...]
    expect: str
    passes: list[bool] = field(default_factory=list)
    released: int = 0
    wrong_released: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    run_ids: list[str] = field(default_factory=list)
    faults: tuple[str, ...] = ()

    def add(self, result: CaseResult) -> None:
        self.passes.append(result.passed)
        self.released += result.is_released
        self.wrong_released += result.is_released and not result.passed
        for name, score in result.metrics.items():
            self.sums[name] = self.sums.get(name, 0.0) + score
            self.counts[name] = self.counts.get(name, 0) + 1
        if result.run_id:
            self.run_ids.append(result.run_id)
        if result.faults:
            self.faults = tuple(result.faults)

    @property
    def share_passed(self) -> float:
        return sum(self.passes) / len(self.passes)

    def mean(self, metric: str) -> float | None:
        """None if no repeat was scored by it."""
        return self.sums[metric] / self.counts[metric] if metric in self.counts else None

    def is_in(self, slice_name: str) -> bool:
        return slice_name in self.tags


class Slice(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    passed: Interval


class MissedCase(BaseModel):
    """A case that did not pass in some repeat. `faults` are those of the last one."""

    model_config = ConfigDict(frozen=True)

    case: str
    passes: int
    repeats: int
    faults: list[str]
    run_ids: list[str]


class FailedCase(BaseModel):
    model_config = ConfigDict(frozen=True)

    case: str
    repeat: int
    problem: str


class Abstention(BaseModel):
    """Counts of runs: what was expected and what happened."""

    model_config = ConfigDict(frozen=True)

    answered_as_expected: int = 0
    abstained_instead: int = 0
    abstained_as_expected: int = 0
    answered_instead: int = 0


class CoveragePoint(BaseModel):
    """Released if the score were at least `threshold`: this share of all runs, of which `risk` is wrong."""

    model_config = ConfigDict(frozen=True)

    threshold: float
    coverage: float
    risk: float


class Summary(BaseModel):
    """`passed_always` is the share of cases that passed in every repeat (pass^k), `wrong_released` that of wrong
    answers among those that the gate would release. Intervals are None if there is nothing to count."""

    model_config = ConfigDict(frozen=True)

    manifest: Manifest
    finished: int
    not_run: int
    failed: list[FailedCase] = []
    passed: Interval | None = None
    passed_always: Interval | None = None
    released: Interval | None = None
    wrong_released: Interval | None = None
    metrics: dict[str, Interval] = {}
    slices: list[Slice] = []
    flaky: list[str] = []
    missed: list[MissedCase] = []
    missed_count: int = 0
    abstention: Abstention = Abstention()
    coverage: list[CoveragePoint] = []
    reused: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0

    @property
    def status(self) -> Literal["complete", "incomplete"]:
        return "incomplete" if self.not_run else "complete"


@dataclass(slots=True)
class _Totals:
    """What is counted over runs while results are read."""

    finished: int = 0
    reused: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    failed: dict[tuple[str, int], str] = field(default_factory=dict)
    abstention: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    scored: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        key = (result.case, result.repeat)
        self.usage += result.usage
        if result.status == "failed":
            self.failed[key] = result.problem
            return
        self.failed.pop(key, None)
        self.finished += 1
        self.reused += bool(result.reused_from)
        self.seconds += result.seconds
        if result.status != "scored":
            is_expected = (result.status == "abstained") == (result.expect == "abstain")
            self.abstention[f"{result.status}_{'as_expected' if is_expected else 'instead'}"] += 1
        if result.status != "abstained" and result.score is not None:
            is_right = result.expect == "answer" if result.status == "scored" else result.passed
            self.scored.append((result.score, is_right))


def read_rows(records: Records, totals: _Totals | None = None) -> list[CaseRow]:
    """The finished cases, in the order in which they first ended."""
    rows: dict[str, CaseRow] = {}
    seen = set[tuple[str, int]]()
    for result in records.results():
        key = (result.case, result.repeat)
        if key in seen:
            continue
        if totals:
            totals.add(result)
        if result.status == "failed":
            continue
        seen.add(key)
        row = rows.get(result.case)
        if row is None:
            row = rows[result.case] = CaseRow(
                result.case, result.digest, result.group, result.language, tuple(result.tags), result.expect
            )
        row.add(result)
    return list(rows.values())


def summarize(records: Records) -> Summary:
    totals = _Totals()
    rows, manifest = read_rows(records, totals), records.manifest
    missed = [row for row in rows if not all(row.passes)]
    return Summary(
        manifest=manifest,
        finished=totals.finished,
        not_run=manifest.total - totals.finished,
        failed=[FailedCase(case=case, repeat=repeat, problem=text) for (case, repeat), text in totals.failed.items()],
        passed=_pass_rate(rows) if rows else None,
        passed_always=_rate(rows, lambda row: float(all(row.passes))) if manifest.repeats > 1 else None,
        released=_rate(rows, lambda row: row.released / len(row.passes)),
        wrong_released=_rate([row for row in rows if row.released], lambda row: row.wrong_released / row.released),
        metrics={name: interval for name in metric_names(rows) if (interval := _mean(rows, name))},
        slices=[Slice(name=name, passed=_pass_rate(some)) for name, some in slices(rows, manifest)],
        flaky=[row.case for row in rows if any(row.passes) and not all(row.passes)],
        missed=[_missed(row) for row in missed[:MAX_LISTED]],
        missed_count=len(missed),
        abstention=Abstention.model_validate(totals.abstention),
        coverage=risk_coverage(totals.scored, totals.finished),
        reused=totals.reused,
        usage=totals.usage,
        seconds=totals.seconds,
    )


def metric_names(rows: Iterable[CaseRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.sums))


def slices(rows: Sequence[CaseRow], manifest: Manifest) -> list[tuple[str, list[CaseRow]]]:
    """The rows of each language and tag that the suite names. Nothing for a single language."""
    found: list[tuple[str, list[CaseRow]]] = []
    for name in manifest.settings.slices:
        if name == "language":
            languages = sorted({row.language for row in rows})
            if len(languages) > 1:
                found += [(language, [row for row in rows if row.language == language]) for language in languages]
        elif some := [row for row in rows if row.is_in(name)]:
            found.append((name, some))
    return found


def risk_coverage(scored: list[tuple[float, bool]], total: int) -> list[CoveragePoint]:
    """From the strictest threshold to the most lenient one; at most 200 points."""
    points, wrong = [], 0
    ordered = sorted(scored, key=lambda item: -item[0])
    for number, (score, passed) in enumerate(ordered, 1):
        wrong += not passed
        is_last_of_score = number == len(ordered) or ordered[number][0] < score
        if is_last_of_score:
            points.append(CoveragePoint(threshold=score, coverage=number / total, risk=wrong / number))
    step = -(-len(points) // MAX_POINTS) or 1
    return [*points[:-1:step], *points[-1:]]


def _rate(rows: Sequence[CaseRow], value: Callable[[CaseRow], float]) -> Interval | None:
    return share_interval([value(row) for row in rows], [row.group for row in rows]) if rows else None


def _pass_rate(rows: Sequence[CaseRow]) -> Interval:
    return share_interval([row.share_passed for row in rows], [row.group for row in rows])


def _mean(rows: Sequence[CaseRow], metric: str) -> Interval | None:
    scored = [(mean, row.group) for row in rows if (mean := row.mean(metric)) is not None]
    return mean_interval([mean for mean, _ in scored], [group for _, group in scored], SCORE_BOUNDS) if scored else None


def _missed(row: CaseRow) -> MissedCase:
    return MissedCase(
        case=row.case,
        passes=sum(row.passes),
        repeats=len(row.passes),
        faults=list(row.faults),
        run_ids=row.run_ids,
    )
