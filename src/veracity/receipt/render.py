"""Renders a receipt as one HTML page: everything known about a run, up to the time of each step (SPEC X3).

The page has no script, no external link and loads nothing; its content security policy tells the browser so. Labels are
in the language of the reader, else in that of the question.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from veracity.language import guess_language
from veracity.locales import LANGUAGES, section_texts
from veracity.models import Answer, Citation, Evidence, Notice, QualityIssue, Receipt
from veracity.models.evaluation import points
from veracity.models.strength import TONES, Scale, Scales
from veracity.models.verdict import VerdictPart, verdict
from veracity.printable import visible
from veracity.receipt.diff import diff_rendered
from veracity.receipt.prose import render_prose
from veracity.receipt.timeline import format_duration, make_timeline, utc
from veracity.settings import Settings

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

LANGUAGE_TAGS = {"zh": "zh-Hans"}
VALUE_TONES = {
    **dict.fromkeys(("answered", "passed", "approve", "up"), "good"),
    **dict.fromkeys(("rejected", "failed", "reject", "down"), "bad"),
}  # all others are "fair"
_NUMBER = re.compile(r"(\d+)")

Piece = tuple[str, bool]  # a piece of text, and whether to mark it


def render_receipt(
    receipt: Receipt, *, language: str = "", zone: str = "", home: str = "", scales: Scales | None = None
) -> str:
    """`language` and `zone` are those of the reader, such as "ja" and "Asia/Tokyo"; unknown zones are UTC.

    `home` is the address of the answer, for a page that a server sends.
    """
    from markupsafe import Markup  # noqa: PLC0415 - only receipts need it

    written = _language(receipt)
    labels = Labels(language if language in LANGUAGES else written, written, _find_zone(zone))
    style = files("veracity.receipt").joinpath("receipt.css").read_text(encoding="utf-8")
    evidence = _evidence_by_attempt(receipt)
    lone_decisions = receipt.answer.decisions if receipt.answer and not receipt.approvals else []
    content: dict[str, int] = {
        "answer": True,
        "route": True,
        "searches": len(receipt.rounds),
        "evidence": sum(len(passages) for _, passages in evidence),
        "drafts": len(receipt.drafts),
        "scores": len(receipt.scorings),
        "decisions": len(receipt.approvals or lone_decisions),
        "feedback": len(receipt.feedback),
        "web": len(receipt.web),
        "spending": True,
        "prompts": len(receipt.calls),
        "timeline": len(receipt.steps),
    }
    return _template().render(
        receipt=receipt,
        sections={name: count for name, count in content.items() if count},
        standalone=_standalone(receipt),
        findings=_findings(receipt, labels.language),
        pending=next((approval for approval in reversed(receipt.approvals) if approval.state == "pending"), None),
        evidence=evidence,
        lone_decisions=lone_decisions,
        timeline=make_timeline(receipt.steps, receipt.approvals) if receipt.steps else None,
        home=home,
        labels=labels,
        language=labels.tag,
        label=labels.text,
        name=labels.name,
        names=labels.names,
        scales=scales or Settings().scales,
        style=Markup(style),
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def _find_zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError, KeyError):  # not a zone, or one that this machine does not know
        return UTC


def _findings(receipt: Receipt, language: str) -> list[VerdictPart]:
    """That of the answer, with the threshold that decided. An answer that waits has that as its status."""
    if receipt.answer is None or receipt.answer.status == "awaiting_approval":
        return []
    threshold = receipt.scorings[-1].threshold if receipt.scorings else 0.0
    return verdict(receipt.answer, threshold, language)


class Labels:
    """The texts around the content, in the language and the time zone of the reader. `written` is the language of the
    answer."""

    def __init__(self, language: str, written: str, zone: tzinfo) -> None:
        self._texts = section_texts(language, "receipt")
        self.language = language
        self.tag = LANGUAGE_TAGS.get(language, language)
        self.written_tag = LANGUAGE_TAGS.get(written, written)
        self._zone = zone

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

    def notice(self, notice: Notice) -> str:
        return notice.translations.get(self.language, notice.text)

    def issue(self, issue: QualityIssue) -> str:
        """With its numbers where it was written in the reader's language."""
        return issue.text if self.tag == self.written_tag else self.name("issue", issue.code)

    def moment(self, when: datetime) -> str:
        return f"{utc(when).astimezone(self._zone):%Y-%m-%d %H:%M:%S %Z}"

    def strength(self, share: float, scale: Scale) -> str:
        return scale.describe(share, self.language)

    def prose(self, text: str, attempt: int = 0, evidence_count: int = 0, answer: Answer | None = None) -> Markup:
        """The Markdown of a text, with links to the evidence it cites."""
        sentences = answer.sentences if answer else []

        def cite(mark: str) -> Markup:
            return self._cite(mark, attempt, evidence_count)

        return render_prose(text, sentences, cite, self.text("unsupported"))

    def _cite(self, mark: str, attempt: int, evidence_count: int) -> Markup:
        from markupsafe import Markup, escape  # noqa: PLC0415 - only receipts need it

        pieces = []
        for piece in _NUMBER.split(mark):
            if not piece.isdecimal() or not evidence_count:
                pieces.append(escape(visible(piece)))
            elif 1 <= int(piece) <= evidence_count:
                pieces.append(Markup('<a href="#evidence-{}-{}">{}</a>').format(attempt, int(piece), piece))
            else:
                pieces.append(Markup('<span title="{}">{}</span>').format(self.text("unresolved"), piece))
        return Markup('<span class="cite">{}</span>').format(Markup("").join(pieces))


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only receipts need it

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    environment.filters |= {
        "duration": format_duration,
        "issue_text": lambda issue, labels: labels.issue(issue),
        "notice_text": lambda notice, labels: labels.notice(notice),
        "points": points,
        "percent": lambda share: f"{100 * min(max(share, 0.0), 1.0):.2f}%" if isfinite(share) else "0%",
        "utc": utc,
    }
    environment.globals |= {
        "diff": diff_rendered,
        "has_unsupported": lambda answer: any(
            sentence.states and not sentence.supported for sentence in answer.sentences
        ),
        "scale_of": Scale.of_score,
        "strength_tone": lambda share, scale: TONES[scale.rate(share)],
        "tone": lambda value: VALUE_TONES.get(value, "fair"),
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
