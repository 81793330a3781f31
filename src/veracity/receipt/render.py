"""Renders a receipt as one HTML page: everything known about a run, up to the time of each step (SPEC X3).

The page has no script, no external link and loads nothing; its content security policy tells the browser so. Labels are
in the language of the question.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any

from veracity.language import guess_language
from veracity.language.citations import MARK
from veracity.locales import LANGUAGES, section_texts
from veracity.models import Answer, AnswerSentence, Approval, Citation, Evidence, Receipt, Step
from veracity.models.evaluation import round_below
from veracity.models.steps import RetrieveStep
from veracity.models.verdict import VerdictPart, verdict
from veracity.printable import visible
from veracity.receipt.diff import diff

if TYPE_CHECKING:
    from jinja2 import Template

LANGUAGE_TAGS = {"zh": "zh-Hans"}
TONES = {
    **dict.fromkeys(("answered", "high", "passed", "approve", "up"), "good"),
    **dict.fromkeys(("rejected", "failed", "low", "reject", "down"), "bad"),
}  # all others are "fair"
MIN_PAUSE_SECONDS = 1.0  # shorter gaps between steps count as active time
MIN_BAR_WIDTH = 0.004  # as a share, so that the shortest step is visible
_NUMBER = re.compile(r"(\d+)")

Piece = tuple[str, bool]  # a piece of text, and whether to mark it


def render_receipt(receipt: Receipt) -> str:
    from markupsafe import Markup  # noqa: PLC0415 - only receipts need it

    labels = Labels(_language(receipt))
    style = files("veracity.receipt").joinpath("receipt.css").read_text(encoding="utf-8")
    evidence = _evidence_by_attempt(receipt)
    lone_decisions = receipt.answer.decisions if receipt.answer and not receipt.approvals else []
    content: dict[str, object] = {
        "answer": True,
        "route": True,
        "searches": receipt.rounds,
        "evidence": evidence,
        "drafts": receipt.drafts,
        "scores": receipt.scorings,
        "decisions": receipt.approvals or lone_decisions,
        "feedback": receipt.feedback,
        "web": receipt.web,
        "spending": True,
        "prompts": receipt.calls,
        "timeline": receipt.steps,
    }
    return _template().render(
        receipt=receipt,
        sections=[name for name, is_shown in content.items() if is_shown],
        standalone=_standalone(receipt),
        findings=_findings(receipt, labels.tag),
        pending=next((approval for approval in reversed(receipt.approvals) if approval.state == "pending"), None),
        evidence=evidence,
        lone_decisions=lone_decisions,
        timeline=make_timeline(receipt.steps, receipt.approvals) if receipt.steps else None,
        language=labels.tag,
        label=labels.text,
        name=labels.name,
        names=labels.names,
        place=labels.place,
        english_tag=labels.english_tag,
        style=Markup(style),
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def _findings(receipt: Receipt, tag: str) -> list[VerdictPart]:
    """That of the answer, with the threshold that decided. An answer that waits has that as its status."""
    if receipt.answer is None or receipt.answer.status == "awaiting_approval":
        return []
    threshold = receipt.scorings[-1].threshold if receipt.scorings else 0.0
    return verdict(receipt.answer, threshold, tag.partition("-")[0])


class Labels:
    """The texts around the content, in one language."""

    def __init__(self, language: str) -> None:
        self._texts = section_texts(language, "receipt")
        self.tag = LANGUAGE_TAGS.get(language, language)

    def text(self, key: str, **values: object) -> str:
        return self._texts[key].format(**values)

    def name(self, kind: str, value: str) -> str:
        """The label of one value of a kind, such as a status; a value without a label is shown itself."""
        return self._texts.get(f"{kind}.{value}", value)

    def names(self, kind: str, values: Iterable[str]) -> str:
        return self._texts["comma"].join(self.name(kind, value) for value in values)

    def place(self, evidence: Evidence) -> str:
        headings = " › ".join(heading for heading in evidence.headings if heading != evidence.title)
        page = "" if evidence.page is None else self.text("page", number=evidence.page)
        return " · ".join(part for part in (headings, page) if part)

    def english_tag(self, text: str) -> str | None:
        """The `lang` of a text that a model or a check may have written in English on a page in another language."""
        return "en" if text.isascii() and self.tag != "en" else None


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only receipts need it

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    environment.filters |= {
        "duration": format_duration,
        "moment": lambda when: f"{_utc(when):%Y-%m-%d %H:%M:%S} UTC",
        "round_below": round_below,
        "percent": lambda share: f"{100 * min(max(share, 0.0), 1.0):.2f}%" if isfinite(share) else "0%",
        "split_citations": _split_citations,
        "split_sentences": _split_sentences,
        "utc": _utc,
    }
    environment.globals |= {
        "diff": diff,
        "has_unsupported": lambda answer: any(map(_is_unsupported, answer.sentences)),
        "tone": lambda value: TONES.get(value, "fair"),
    }
    source = files("veracity.receipt").joinpath("receipt.html.j2").read_text(encoding="utf-8")
    return environment.from_string(re.sub(r"\n\s*", "", source))


def _printable(value: Any) -> Any:
    """Applied to every value before it is escaped; HTML that the template made stays untouched."""
    if hasattr(value, "__html__"):
        return value
    return "" if value is None else visible(str(value).replace("\r\n", "\n"))


def _language(receipt: Receipt) -> str:
    language = receipt.answer.language if receipt.answer else ""
    return language if language in LANGUAGES else guess_language(receipt.run.question)


def _standalone(receipt: Receipt) -> str:
    """The question as it was understood, unless it was asked that way."""
    standalone = receipt.standalone or (receipt.answer.standalone if receipt.answer else "")
    return "" if standalone == receipt.run.question else standalone


def format_duration(seconds: float) -> str:
    if not isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"


def _utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def _split_citations(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each citation mark, split at its numbers, with the text before it."""
    at = 0
    for mark in MARK.finditer(text):
        yield text[at : mark.start()], _NUMBER.split(mark[0])
        at = mark.end()
    yield text[at:], []


def _split_sentences(answer: Answer) -> Iterator[Piece]:
    """The answer's text, marked where it is not supported. A sentence that the text does not contain is skipped."""
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start < 0 or not sentence.text:
            continue
        yield answer.text[at:start], False
        yield sentence.text, _is_unsupported(sentence)
        at = start + len(sentence.text)
    yield answer.text[at:], False


def _is_unsupported(sentence: AnswerSentence) -> bool:
    return sentence.states and not sentence.supported


def _evidence_by_attempt(receipt: Receipt) -> list[tuple[int, list[tuple[Evidence, bool, list[Piece]]]]]:
    """The evidence of each attempt, the last first: whether it is cited, and its text with the quotes marked."""
    answers = [approval.draft.model_copy(update={"attempt": approval.attempt}) for approval in receipt.approvals]
    attempts: dict[int, list[Answer]] = {}
    for answer in [*answers, *([receipt.answer] if receipt.answer else [])]:
        if answer.evidence:
            attempts.setdefault(answer.attempt, []).append(answer)
    return [(attempt, _mark_evidence(attempts[attempt])) for attempt in sorted(attempts, reverse=True)]


def _mark_evidence(answers: Sequence[Answer]) -> list[tuple[Evidence, bool, list[Piece]]]:
    evidence = max((answer.evidence for answer in answers), key=len)
    citations: dict[int, list[Citation]] = {}
    for answer in answers:
        for citation in (citation for sentence in answer.sentences for citation in sentence.citations):
            citations.setdefault(citation.number, []).append(citation)
    return [
        (item, number in citations, _mark_quotes(item, citations.get(number, [])))
        for number, item in enumerate(evidence, 1)
    ]


def _mark_quotes(evidence: Evidence, citations: Iterable[Citation]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for start, end in sorted(filter(None, (_quote_span(evidence, citation) for citation in citations))):
        if pieces and start <= at:  # overlapping quotes are marked as one
            pieces[-1] = (pieces[-1][0] + evidence.text[at:end], True)
        else:
            pieces += [(evidence.text[at:start], False), (evidence.text[start:end], True)]
        at = max(at, end)
    return [*pieces, (evidence.text[at:], False)]


def _quote_span(evidence: Evidence, citation: Citation) -> tuple[int, int] | None:
    """Where the quote is in the passage. It is searched for when the stored offset does not hold it."""
    quote, start = citation.quote, citation.start - evidence.start
    if not quote:
        return None
    if start < 0 or not evidence.text.startswith(quote, start):
        start = evidence.text.find(quote)
    return None if start < 0 else (start, start + len(quote))


@dataclass(frozen=True)
class Hold:
    """A period that does not count as active: nothing runs, or a person decides (`is_wait`)."""

    start: float
    end: float
    is_wait: bool


@dataclass(frozen=True)
class Row:
    """A step with its bar, or a hold. `x` and `width` are shares of the active time."""

    seconds: float
    step: Step | None = None
    x: float = 0.0
    width: float = 0.0
    is_wait: bool = False

    @property
    def source(self) -> str:
        return self.step.facts.source if isinstance(self.step, RetrieveStep) else ""

    @property
    def css_class(self) -> str:
        return "fill bad" if self.step and self.step.facts.problem else "fill"


@dataclass(frozen=True)
class Timeline:
    """Steps and holds by time. Holds are left out of the scale: beside days of waiting no step would be visible."""

    active: float
    rows: list[Row]


def make_timeline(steps: Sequence[Step], approvals: Sequence[Approval]) -> Timeline:
    holds = find_holds(steps, approvals)
    first = min(map(_started, steps))

    def active_until(when: float) -> float:
        held = sum(max(0.0, min(hold.end, when) - max(hold.start, first)) for hold in holds)
        return when - first - held

    active = active_until(max(map(_ended, steps)))

    def row(step: Step) -> Row:
        start, end = _started(step), _ended(step)
        x, end_x = (active_until(when) / active if active > 0 else 0.0 for when in (start, end))
        width = max(end_x - x, MIN_BAR_WIDTH)
        return Row(end - start, step, min(x, 1 - width), width)

    rows = [(_started(step), row(step)) for step in steps]
    rows += [(hold.start, Row(hold.end - hold.start, is_wait=hold.is_wait)) for hold in holds]
    return Timeline(active, [row for _, row in sorted(rows, key=lambda item: item[0])])


def find_holds(steps: Iterable[Step], approvals: Iterable[Approval]) -> list[Hold]:
    """Waits for a decision and pauses between steps, in order; those that overlap are one."""
    waits = [
        Hold(_utc(approval.created).timestamp(), _utc(approval.decision.at).timestamp(), is_wait=True)
        for approval in approvals
        if approval.decision and approval.decision.at > approval.created
    ]
    holds: list[Hold] = []
    for hold in sorted([*waits, *_pauses(steps)], key=lambda hold: (hold.start, hold.end)):
        if holds and hold.start < holds[-1].end:
            last = holds.pop()
            holds.append(Hold(last.start, max(last.end, hold.end), last.is_wait or hold.is_wait))
        else:
            holds.append(hold)
    return holds


def _pauses(steps: Iterable[Step]) -> Iterator[Hold]:
    end: float | None = None
    for step in sorted(steps, key=_started):
        if end is not None and _started(step) - end > MIN_PAUSE_SECONDS:
            yield Hold(end, _started(step), is_wait=False)
        end = max(_ended(step), end or _ended(step))


def _started(step: Step) -> float:
    return _utc(step.started).timestamp()


def _ended(step: Step) -> float:
    return _started(step) + (step.seconds if isfinite(step.seconds) and step.seconds > 0 else 0.0)
