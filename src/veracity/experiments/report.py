"""The report of an experiment: one self-contained HTML page, Markdown for pull requests, and JUnit XML for CI.

The page has no script and loads nothing; its content security policy tells the browser so. Texts of questions, answers
and documents come from the receipts of the runs.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict

from veracity.errors import InputError, reason_of
from veracity.experiments.comparison import TEXTS, Comparison, percent, points
from veracity.experiments.gate import GateVerdict
from veracity.experiments.intervals import Interval
from veracity.experiments.paired import PairedTest
from veracity.experiments.summary import Summary
from veracity.locales import text
from veracity.models import Receipt
from veracity.printable import visible

if TYPE_CHECKING:
    from jinja2 import Template

MAX_SHOWN = 50  # cases with their receipts
MAX_QUOTES = 5
MAX_MARKDOWN_CASES = 20

FindReceipt = Callable[[str], Receipt | None]


class Report(BaseModel):
    """What is written to `summary.json`."""

    model_config = ConfigDict(frozen=True)

    verdict: str
    summary: Summary
    comparison: Comparison | None = None
    gate: GateVerdict | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the report shows it. `is_removed`: its receipt was removed, or its texts were forgotten."""

    run_id: str
    faults: list[str]
    question: str = ""
    status: str = ""
    answer: str = ""
    score: float | None = None
    suggestions: tuple[str, ...] = ()
    quotes: tuple[tuple[str, str], ...] = ()
    is_removed: bool = False


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its run in the experiment, and before it, in the one it is compared with."""

    case: str
    question: str
    runs: list[tuple[str, RunView]]


def make_report(summary: Summary, comparison: Comparison | None, gate: GateVerdict | None) -> Report:
    return Report(
        verdict=comparison.sentence if comparison else describe(summary),
        summary=summary,
        comparison=comparison,
        gate=gate,
    )


def describe(summary: Summary, language: str = "en") -> str:
    """One experiment in one sentence."""
    say, name, passed = partial(text, language, TEXTS), summary.manifest.name, summary.passed
    if passed is None:
        return say("summary.nothing", name=name)
    rate = {"share": percent(passed.value), "cases": passed.n, "interval": _describe_interval(passed, language)}
    parts = [say("summary.passed", name=name, **rate)]
    if summary.wrong_released and summary.released:
        wrong = percent(summary.wrong_released.value)
        parts.append(say("summary.released", share=percent(summary.released.value), wrong=wrong))
    if summary.not_run:
        parts.append(say("summary.not_run", count=summary.not_run, total=summary.manifest.total))
    return say("summary.join").join(parts) + say("summary.end")


def _describe_interval(interval: Interval, language: str) -> str:
    say, low, high = partial(text, language, TEXTS), f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}"
    clusters = "" if interval.clusters == interval.n else say("summary.clusters", count=interval.clusters)
    return say("summary.interval", low=low, high=high, method=interval.method, clusters=clusters)


def write_report(folder: Path, report: Report, receipt: FindReceipt, language: str = "en") -> list[Path]:
    """Write all forms beside the results; the page is in the given language. Raises `InputError` if the folder cannot
    be written."""
    contents = {
        "summary.json": report.model_dump_json(indent=2),
        "summary.md": render_markdown(report),
        "junit.xml": render_junit(report),
        "report.html": render_html(report, receipt, language),
    }
    for name, content in contents.items():
        try:
            descriptor = os.open(folder / f"{name}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(content)
            (folder / f"{name}.part").replace(folder / name)
        except OSError as problem:
            raise InputError(f"{folder / name} cannot be written ({reason_of(problem)}).") from None
    return [folder / name for name in contents]


def render_markdown(report: Report) -> str:
    """For a pull request: verdict, table, regressions."""
    summary, comparison = report.summary, report.comparison
    lines = [f"**{_escape(report.verdict)}**", ""]
    if report.gate:
        lines += [f"Gate: **{report.gate.outcome}**", ""]
        lines += [f"- {item.outcome}: {_escape(item.sentence)}" for item in report.gate.requirements] + [""]
    lines += ["| measure | value | 95 % interval | n | method |", "|---|---:|---:|---:|---|"]
    for name, interval, scale in measures(summary):
        low, high = f"{scale * interval.low:.1f}", f"{scale * interval.high:.1f}"
        value = f"{scale * interval.value:.1f}"
        lines.append(f"| {_escape(name)} | {value} | {low} to {high} | {interval.n} | {interval.method} |")
    if comparison:
        lines += ["", f"Regressions: {comparison.regression_count}. Improvements: {comparison.improvement_count}.", ""]
        for pair in comparison.regressions[:MAX_MARKDOWN_CASES]:
            lines.append(f"- `{_escape(pair.case)}`: {_escape('; '.join(pair.b_faults) or 'did not pass')}")
    return "\n".join(lines) + "\n"


def render_junit(report: Report) -> str:
    """One test case per case; a case that passed in some repeats only is a failure, too."""
    summary = report.summary
    name = visible(summary.manifest.name)
    missed, failed = {case.case: case for case in summary.missed}, summary.failed
    passed = summary.passed.n - summary.missed_count if summary.passed else 0
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(passed + len(missed) + len(failed)),
        failures=str(len(missed)),
        errors=str(len(failed)),
        time=f"{summary.seconds:.3f}",
    )
    for case in missed.values():
        element = ElementTree.SubElement(suite, "testcase", classname=name, name=visible(case.case))
        message = visible(f"passed {case.passes} of {case.repeats}: {'; '.join(case.faults)}")
        ElementTree.SubElement(element, "failure", message=message)
    for problem in failed:
        element = ElementTree.SubElement(suite, "testcase", classname=name, name=visible(problem.case))
        ElementTree.SubElement(element, "error", message=visible(problem.problem))
    if passed:
        ElementTree.SubElement(suite, "testcase", classname=name, name=f"{passed} cases that passed")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def measures(summary: Summary, language: str = "en") -> list[tuple[str, Interval, float]]:
    """The rows of the table: name, interval, and what makes a percentage of it."""
    say = partial(text, language, TEXTS)
    rates = [
        (say("measure.passed"), summary.passed),
        (say("measure.always", repeats=summary.manifest.repeats), summary.passed_always),
        (say("measure.released"), summary.released),
        (say("measure.wrong"), summary.wrong_released),
        *((say("measure.slice", name=part.name), part.passed) for part in summary.slices),
    ]
    found = [(name, interval, 100.0) for name, interval in rates if interval]
    return found + [(name, interval, 1.0) for name, interval in summary.metrics.items()]


def render_html(report: Report, receipt: FindReceipt, language: str = "en") -> str:
    """One page in the given language. Faults and problems of cases are as they were recorded."""
    from markupsafe import Markup  # noqa: PLC0415 - only reports need it

    style = "".join(
        files(package).joinpath(name).read_text(encoding="utf-8")
        for package, name in (("veracity.receipt", "receipt.css"), ("veracity.experiments", "report.css"))
    )
    comparison = report.comparison
    return _template().render(
        report=report,
        summary=report.summary,
        comparison=comparison,
        language=language,
        space=" " if language == "en" else "",  # between two sentences
        say=partial(text, language, TEXTS),
        status=lambda status: text(language, "receipt", f"status.{status}"),
        verdict=comparison.describe(language) if comparison else describe(report.summary, language),
        difference=partial(_difference, language=language),
        measures=measures(report.summary, language),
        tests=[comparison.passed, *comparison.slices, *comparison.metrics] if comparison else [],
        cases=list(_views(report, receipt)),
        shown=MAX_SHOWN,
        style=Markup(style),
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def _views(report: Report, receipt: FindReceipt) -> Iterable[CaseView]:
    """Regressions, or cases that did not pass; at most fifty."""
    comparison = report.comparison
    if comparison is None:
        name = report.summary.manifest.name
        for missed in report.summary.missed[:MAX_SHOWN]:
            run = _view(missed.run_ids[-1] if missed.run_ids else "", missed.faults, receipt)
            yield CaseView(missed.case, run.question, [(name, run)])
        return
    for pair in comparison.regressions[:MAX_SHOWN]:
        before, after = _view(pair.a_run, pair.a_faults, receipt), _view(pair.b_run, pair.b_faults, receipt)
        runs = [(comparison.a.name, before), (comparison.b.name, after)]
        yield CaseView(pair.case, after.question or before.question, runs)


def _view(run_id: str, faults: list[str], receipt: FindReceipt) -> RunView:
    found = receipt(run_id) if run_id else None
    answer = found.answer if found else None
    if found is None or answer is None:
        return RunView(run_id, faults, is_removed=bool(run_id))
    titles = {evidence.id: evidence.title for evidence in answer.evidence}
    quotes = {
        citation.quote: titles.get(citation.evidence_id, "")
        for sentence in answer.sentences
        for citation in sentence.citations
    }
    return RunView(
        run_id=run_id,
        faults=faults,
        question=found.run.question,
        status=answer.status,
        answer=answer.text,
        score=answer.score,
        suggestions=tuple(answer.review.suggestions) if answer.review else (),
        quotes=tuple((title, quote) for quote, title in list(quotes.items())[:MAX_QUOTES]),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only reports need it

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    environment.filters |= {"bar": _bar}
    environment.globals |= {"curve": _curve}
    source = files("veracity.experiments").joinpath("report.html.j2").read_text(encoding="utf-8")
    return environment.from_string("".join(line.strip() for line in source.splitlines()))


def _printable(value: object) -> object:
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _bar(interval: Interval, scale: float) -> dict[str, str]:
    """Positions of the interval on an axis from 0 to 100."""
    return {name: f"{min(max(scale * getattr(interval, name), 0), 100):.2f}%" for name in ("low", "value", "high")}


def _difference(test: PairedTest, language: str) -> dict[str, str]:
    """Positions of a difference on an axis that shows four margins to each side, and its text."""
    span, interval = 4 * test.margin, test.difference

    def place(value: float) -> str:
        return f"{min(max(50 + 50 * value / span, 0), 100):.2f}%"

    scale = 1.0 if test.margin < 1 else 0.01
    low, high = points(scale * interval.low), points(scale * interval.high)
    written = f"{points(scale * interval.value)} ({text(language, TEXTS, 'range', low=low, high=high)})"
    places = {name: place(getattr(interval, name)) for name in ("low", "value", "high")}
    return {**places, "margin_low": place(-test.margin), "margin_high": place(test.margin), "text": written}


def _curve(summary: Summary) -> str:
    """The points of the risk–coverage curve, on axes of 300 by 150; risk is drawn up to 50 %."""
    return " ".join(f"{300 * point.coverage:.1f},{150 - 300 * min(point.risk, 0.5):.1f}" for point in summary.coverage)


def _escape(text: str) -> str:
    """As one line of Markdown without markup."""
    return "".join(
        f"\\{character}" if character in "\\`*_[]<>|#" else character for character in " ".join(visible(text).split())
    )
