"""The gate of a suite: does an experiment meet what the team requires, fail it, or can nobody tell yet?

A requirement is met if the whole interval is on its good side, and failed if the whole interval is on the other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.experiments.comparison import Comparison
from veracity.experiments.intervals import Interval
from veracity.experiments.suite import Gate
from veracity.experiments.summary import Summary

Outcome = Literal["passed", "failed", "cannot tell"]
EXIT_CODES: dict[Outcome, int] = {"passed": 0, "failed": 1, "cannot tell": 6}


class Requirement(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    outcome: Outcome
    sentence: str


class GateVerdict(BaseModel):
    """Failed if any requirement is; otherwise, cannot tell if that is so for any."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    requirements: list[Requirement]


def check_gate(gate: Gate, summary: Summary, comparison: Comparison | None) -> GateVerdict:
    """`comparison` is with the baseline. A gate without requirements passes if every case was run."""
    requirements = list(_requirements(gate, summary, comparison))
    if summary.not_run:
        sentence = f"{summary.not_run} of {summary.manifest.total} were not run."
        requirements.append(Requirement(name="all cases run", outcome="cannot tell", sentence=sentence))
    outcomes = {requirement.outcome for requirement in requirements}
    outcome: Outcome = "failed" if "failed" in outcomes else "cannot tell" if "cannot tell" in outcomes else "passed"
    return GateVerdict(outcome=outcome, requirements=requirements)


def _requirements(gate: Gate, summary: Summary, comparison: Comparison | None) -> Iterator[Requirement]:
    if gate.pass_rate is not None:
        yield _at_least("pass rate", summary.passed, gate.pass_rate, 100)
    if gate.wrong_released is not None:
        yield _at_most("wrong answers released", summary.wrong_released, gate.wrong_released)
    for name, least in gate.metrics.items():
        yield _at_least(name, summary.metrics.get(name), least, 1)
    if comparison:
        yield _not_worse(comparison)
    elif gate.baseline is not None and gate.baseline != summary.manifest.name:
        sentence = f"There is no case to compare with {gate.baseline}."
        yield Requirement(name=f"not worse than {gate.baseline}", outcome="cannot tell", sentence=sentence)


def _at_least(name: str, interval: Interval | None, least: float, scale: float) -> Requirement:
    if interval is None:
        return Requirement(name=name, outcome="cannot tell", sentence=f"{name}: nothing was measured.")
    outcome = _outcome(interval, interval.low >= least, interval.high < least)
    return Requirement(
        name=name, outcome=outcome, sentence=f"{_measured(name, interval, scale)}; at least {least * scale:g}."
    )


def _at_most(name: str, interval: Interval | None, most: float) -> Requirement:
    if interval is None:
        return Requirement(name=name, outcome="cannot tell", sentence=f"{name}: nothing was released.")
    outcome = _outcome(interval, interval.high <= most, interval.low > most)
    return Requirement(
        name=name, outcome=outcome, sentence=f"{_measured(name, interval, 100)}; at most {most * 100:g}."
    )


def _not_worse(comparison: Comparison) -> Requirement:
    """Better, equivalent, or at least not worse by more than the margin."""
    test = comparison.passed
    is_above = test.difference.low > -test.margin and not _is_rough(test.difference)
    is_safe = test.verdict in ("better", "equivalent") or is_above
    outcome: Outcome = "failed" if test.verdict == "worse" else "passed" if is_safe else "cannot tell"
    return Requirement(name=f"not worse than {comparison.a.name}", outcome=outcome, sentence=comparison.sentence)


def _outcome(interval: Interval, is_met: bool, is_failed: bool) -> Outcome:
    if _is_rough(interval):
        return "cannot tell"
    return "passed" if is_met else "failed" if is_failed else "cannot tell"


def _is_rough(interval: Interval) -> bool:
    """A bootstrap of a few clusters is too narrow to decide."""
    return interval.method.endswith("bootstrap")


def _measured(name: str, interval: Interval, scale: float) -> str:
    low, high, value = (scale * number for number in (interval.low, interval.high, interval.value))
    return f"{name}: {value:.1f} (95 % interval {low:.1f} to {high:.1f}, {interval.n} cases, {interval.method})"
