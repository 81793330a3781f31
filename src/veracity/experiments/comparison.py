"""Compares two experiments on the cases that both have run, and says which is better, or that nobody can tell yet."""

from __future__ import annotations

from functools import partial

from pydantic import BaseModel, ConfigDict

from veracity.errors import InputError
from veracity.experiments.paired import PairedTest, Verdict, adjust, compare_means, compare_passes
from veracity.experiments.records import Manifest, Records
from veracity.experiments.summary import CaseRow, metric_names, read_rows, slices
from veracity.locales import text

TEXTS = "experiment_report"  # their section in the locale files
SCALE = 100.0  # of the metrics
MAX_PAIRS = 1000  # that are listed


class CasePair(BaseModel):
    """A case whose outcome differs. The shares are those of the repeats that passed."""

    model_config = ConfigDict(frozen=True)

    case: str
    a: float
    b: float
    a_faults: list[str]
    b_faults: list[str]
    a_run: str = ""
    b_run: str = ""


class Comparison(BaseModel):
    """B against A. The verdict is that of the cases that pass; `metrics` and `slices` are secondary, and corrected for
    their number. `left_out` counts cases that only one of them has finished, `changed` cases with another content."""

    model_config = ConfigDict(frozen=True)

    a: Manifest
    b: Manifest
    cases: int
    left_out: int
    changed: int
    differs: list[str]
    passed: PairedTest
    metrics: list[PairedTest] = []
    slices: list[PairedTest] = []
    regressions: list[CasePair] = []
    improvements: list[CasePair] = []
    regression_count: int = 0
    improvement_count: int = 0

    @property
    def verdict(self) -> Verdict:
        return self.passed.verdict

    @property
    def sentence(self) -> str:
        return self.describe("en")

    def describe(self, language: str) -> str:
        return describe(self.passed, self.a.name, self.b.name, language)


def compare(a: Records, b: Records) -> Comparison:
    """Raises `InputError` if they have no case in common."""
    rows_a, rows_b = ({row.case: row for row in read_rows(records)} for records in (a, b))
    common = [name for name in rows_b if name in rows_a]
    pairs = [(rows_a[name], rows_b[name]) for name in common if rows_a[name].digest == rows_b[name].digest]
    if not pairs:
        raise InputError(
            f'The experiments "{a.manifest.name}" and "{b.manifest.name}" have no finished case in common: compare '
            "experiments of the same suite."
        )
    margin = b.manifest.settings.margin
    worse = [pair for pair in pairs if pair[1].share_passed < pair[0].share_passed]
    better = [pair for pair in pairs if pair[1].share_passed > pair[0].share_passed]
    return Comparison(
        a=a.manifest,
        b=b.manifest,
        cases=len(pairs),
        left_out=len(rows_a) + len(rows_b) - 2 * len(common),
        changed=len(common) - len(pairs),
        differs=[name for name, value in b.manifest.hashes.items() if a.manifest.hashes.get(name) != value],
        passed=_compare_passes(pairs, margin, "passed"),
        metrics=adjust(list(_compare_metrics(pairs, margin))),
        slices=adjust(_compare_slices(pairs, b.manifest)),
        regressions=[_case_pair(*pair) for pair in worse[:MAX_PAIRS]],
        improvements=[_case_pair(*pair) for pair in better[:MAX_PAIRS]],
        regression_count=len(worse),
        improvement_count=len(better),
    )


def describe(test: PairedTest, a: str, b: str, language: str = "en") -> str:
    """The verdict in one sentence, with its numbers."""
    say, interval = partial(text, language, TEXTS), test.difference
    measured = say(
        "compare.measured",
        a_share=percent(test.a),
        b_share=percent(test.b),
        cases=interval.n,
        difference=points(interval.value),
        low=points(interval.low),
        high=points(interval.high),
        method=test.method,
        p=f"{test.p:.3f}",
    )
    more = say("compare.more", count=f"{test.more_cases:,}") if test.more_cases else say("compare.far_more")
    margin = points(test.margin, signed=False)
    return say(f"compare.{test.verdict}", a=a, b=b, measured=measured, margin=margin, more=more)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def points(share: float, *, signed: bool = True) -> str:
    return f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"


def _compare_passes(pairs: list[tuple[CaseRow, CaseRow]], margin: float, measure: str) -> PairedTest:
    a, b = ([row.share_passed for row in rows] for rows in zip(*pairs, strict=True))
    return compare_passes(a, b, [row.group for _, row in pairs], margin, measure)


def _compare_metrics(pairs: list[tuple[CaseRow, CaseRow]], margin: float) -> list[PairedTest]:
    """Cases that both have scored. A metric that one of them lacks is left out."""
    tests = []
    for name in metric_names(row for _, row in pairs):
        scored = [
            (before, after, row.group)
            for other, row in pairs
            if (before := other.mean(name)) is not None and (after := row.mean(name)) is not None
        ]
        if scored:
            a, b, groups = (list(column) for column in zip(*scored, strict=True))
            tests.append(compare_means(a, b, groups, margin * SCALE, name, SCALE))
    return tests


def _compare_slices(pairs: list[tuple[CaseRow, CaseRow]], manifest: Manifest) -> list[PairedTest]:
    before = {row.case: row for row, _ in pairs}
    return [
        _compare_passes([(before[row.case], row) for row in rows], manifest.settings.margin, name)
        for name, rows in slices([row for _, row in pairs], manifest)
    ]


def _case_pair(a: CaseRow, b: CaseRow) -> CasePair:
    return CasePair(
        case=b.case,
        a=a.share_passed,
        b=b.share_passed,
        a_faults=list(a.faults),
        b_faults=list(b.faults),
        a_run=a.run_ids[-1] if a.run_ids else "",
        b_run=b.run_ids[-1] if b.run_ids else "",
    )
