"""The gate of a suite: does an experiment meet what the team requires, fail it, or can nobody tell yet?

A requirement is met if the whole interval is on its good side, and failed if the whole interval is on the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, PrivateAttr

from veracity.experiments.comparison import TEXTS, Comparison
from veracity.experiments.intervals import Interval
from veracity.experiments.suite import Gate
from veracity.experiments.summary import Summary
from veracity.locales import section_texts, text

Outcome = Literal["passed", "failed", "cannot tell"]
Describe = Callable[[str], str]  # the sentence in a language
EXIT_CODES: dict[Outcome, int] = {"passed": 0, "failed": 1, "cannot tell": 6}


class Requirement(BaseModel):
    """`sentence` is in English; `describe` says it in another language."""

    model_config = ConfigDict(frozen=True)

    name: str
    outcome: Outcome
    sentence: str
    _describe: Describe = PrivateAttr()

    def describe(self, language: str) -> str:
        return self._describe(language)


def _require(name: str, outcome: Outcome, describe: Describe) -> Requirement:
    made = Requirement(name=name, outcome=outcome, sentence=describe("en"))
    made._describe = describe
    return made


class GateVerdict(BaseModel):
    """Failed if any requirement is; otherwise, cannot tell if that is so for any."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    requirements: list[Requirement]


def check_gate(gate: Gate, summary: Summary, comparison: Comparison | None) -> GateVerdict:
    """`comparison` is with the baseline. A gate without requirements passes if every case was run."""
    requirements = list(_requirements(gate, summary, comparison))
    if summary.not_run:
        counts = {"count": summary.not_run, "total": summary.manifest.total}
        requirements.append(_require("all cases run", "cannot tell", _say("gate.not_run", **counts)))
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
        yield _require(f"not worse than {gate.baseline}", "cannot tell", _say("gate.no_common", name=gate.baseline))


def _at_least(name: str, interval: Interval | None, least: float, scale: float) -> Requirement:
    if interval is None:
        return _require(name, "cannot tell", _say("gate.not_measured", name=name))
    outcome = _outcome(interval, interval.low >= least, interval.high < least)
    return _require(name, outcome, _say_bound("gate.at_least", name, interval, least, scale))


def _at_most(name: str, interval: Interval | None, most: float) -> Requirement:
    if interval is None:
        return _require(name, "cannot tell", _say("gate.not_released", name=name))
    outcome = _outcome(interval, interval.high <= most, interval.low > most)
    return _require(name, outcome, _say_bound("gate.at_most", name, interval, most, 100))


def _not_worse(comparison: Comparison) -> Requirement:
    """Better, equivalent, or at least not worse by more than the margin."""
    test = comparison.passed
    is_above = test.difference.low > -test.margin and not _is_rough(test.difference)
    is_safe = test.verdict in ("better", "equivalent") or is_above
    outcome: Outcome = "failed" if test.verdict == "worse" else "passed" if is_safe else "cannot tell"
    return _require(f"not worse than {comparison.a.name}", outcome, comparison.describe)


def _outcome(interval: Interval, is_met: bool, is_failed: bool) -> Outcome:
    if _is_rough(interval):
        return "cannot tell"
    return "passed" if is_met else "failed" if is_failed else "cannot tell"


def _is_rough(interval: Interval) -> bool:
    """A bootstrap of a few clusters is too narrow to decide."""
    return interval.method.endswith("bootstrap")


def _say(key: str, **values: object) -> Describe:
    return lambda language: text(language, TEXTS, key, **_in_language(values, language))


def _say_bound(key: str, name: str, interval: Interval, bound: float, scale: float) -> Describe:
    numbers = {part: f"{scale * getattr(interval, part):.1f}" for part in ("value", "low", "high")}
    measured = _say("gate.measured", name=name, cases=interval.n, method=interval.method, **numbers)
    return lambda language: text(language, TEXTS, key, measured=measured(language), bound=f"{bound * scale:g}")


def _in_language(values: dict[str, object], language: str) -> dict[str, object]:
    """The names of rates are translated, those of metrics and experiments are not."""
    names = section_texts(language, TEXTS)
    return {key: names.get(f"gate.name.{value}", value) if key == "name" else value for key, value in values.items()}
