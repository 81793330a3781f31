"""Prints an answer: its text, sources, verdicts and notices. Labels are in the language of the question."""

from __future__ import annotations

from rich.text import Text

from veracity.cli.ui.console import console, one_line, plain, shown_path
from veracity.locales import text
from veracity.models import Answer, AnswerSentence, EvaluationResult, Evidence, MetricScore, Review
from veracity.models.strength import TONES, Scale, Scales
from veracity.models.verdict import verdict

AWAITING = "awaiting_approval"
MAX_NEAREST = 2  # passages below an abstention
MAX_NEAREST_LENGTH = 300  # characters of one
STYLES = {"good": "green", "fair": "yellow", "bad": "red", "": ""}


def show_answer(answer: Answer, scales: Scales, *, brief: bool = False) -> None:
    """`brief` leaves out the quotes of the sources."""
    console.print(_marked_text(answer))
    if answer.status == AWAITING:  # only approvers may see the draft and its verdicts
        return
    sources = _sources(answer)
    if sources:
        console.print("" if brief else plain(f"\n{label(answer.language, 'sources')}", "bold"))
    for number, (evidence, quotes) in sources.items():
        console.print(_source(number, evidence, answer.language, brief))
        for quote in () if brief else quotes:
            console.print(_quote(quote))
    if answer.status == "abstained" and not sources and not brief:
        _show_nearest(answer)
    if answer.quality or answer.review or answer.score is not None:  # small talk is not examined
        console.print()
        console.print(_verdict(answer, scales))
    for suggestion in answer.review.suggestions if answer.review else []:
        console.print(plain(f"  • {suggestion}"))
    for notice in answer.notices:
        console.print(plain(f"• {notice.text}", "yellow"))
        for sentence in filter(_is_unsupported, answer.sentences) if notice.code == "unsupported" else ():
            console.print(plain(f"  – {one_line(sentence.text)}", "red"))


def _show_nearest(answer: Answer) -> None:
    """The passages that an abstention found: one of them may answer after all."""
    nearest = answer.evidence[:MAX_NEAREST]
    if nearest:
        console.print(plain(f"\n{label(answer.language, 'nearest')}", "bold"))
    for number, evidence in enumerate(nearest, 1):
        console.print(_source(number, evidence, answer.language))
        passage = one_line(evidence.text)
        is_long = len(passage) > MAX_NEAREST_LENGTH
        console.print(_quote(f"{passage[:MAX_NEAREST_LENGTH].rstrip()}…" if is_long else passage))


def show_sources(answer: Answer) -> None:
    """Print every cited passage in full, with its quotes marked."""
    sources = _sources(answer)
    if not sources:
        console.print(plain(label(answer.language, "no_citations")))
    for number, (evidence, quotes) in sources.items():
        console.print(_source(number, evidence, answer.language))
        passage = plain(evidence.text)
        for quote in quotes:
            start = evidence.text.find(quote)  # `plain` replaces character by character: offsets stay valid
            if start >= 0:
                passage.stylize("bold underline", start, start + len(quote))
            else:
                console.print(_quote(quote))
        console.print(passage)
        console.print()


def label(language: str, key: str, **values: object) -> str:
    return text(language, "cli", key, **values)


def strength_text(share: float, scale: Scale, language: str) -> Text:
    return plain(scale.describe(share, language), STYLES[TONES[scale.rate(share)]])


def format_review(review: Review, language: str) -> str:
    reviewer = label(language, "local") if review.reviewer == "local" else review.reviewer
    return label(language, "review", verdict=label(language, f"review.{review.outcome}", reviewer=reviewer))


def list_scores(evaluation: EvaluationResult | None, grounding: list[MetricScore]) -> list[MetricScore]:
    """The metrics, and the grounding checks that are not among them."""
    metrics = evaluation.metrics if evaluation else []
    names = {metric.metric_name for metric in metrics}
    return [*metrics, *(check for check in grounding if check.metric_name not in names)]


def format_source(evidence: Evidence) -> str:
    return " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))


def _marked_text(answer: Answer) -> Text:
    """The answer's text, unsupported sentences marked."""
    marked = plain(answer.text, "bold" if answer.status in ("abstained", AWAITING) else "")
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start >= 0:
            at = start + len(sentence.text)
            if _is_unsupported(sentence):
                marked.stylize("red underline", start, at)
    return marked


def _is_unsupported(sentence: AnswerSentence) -> bool:
    return sentence.states and not sentence.supported


def _sources(answer: Answer) -> dict[int, tuple[Evidence, list[str]]]:
    """The cited evidence by number, each with its quotes."""
    quotes: dict[int, dict[str, None]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            quotes.setdefault(citation.number, {}).update({citation.quote: None} if citation.quote else {})
    return {number: (answer.evidence[number - 1], list(quotes[number])) for number in sorted(quotes)}


def _source(number: int, evidence: Evidence, language: str, brief: bool = False) -> Text:
    page = "" if evidence.page is None else label(language, "page", number=evidence.page)
    title = f"[{number}] {format_source(evidence)}"
    if brief:
        return plain(f"{title}{page}", "dim")
    location = shown_path(evidence.location) or evidence.document_id
    return plain(title, "bold").append_text(plain(f"\n    {location}{page}", "dim"))


def _quote(quote: str) -> Text:
    return plain(f"    “{one_line(quote)}”", "italic")


def _verdict(answer: Answer, scales: Scales) -> Text:
    """As on the page and the receipt: the review comes first (SPEC A14). Below it, the grade of the evidence."""
    parts = [plain(part.text, STYLES[part.tone]) for part in verdict(answer, scales.score.strong, answer.language)]
    line = plain(" · ").join(parts)
    if answer.quality:
        grade = strength_text(answer.quality.score, scales.evidence, answer.language)
        line.append_text(plain(f"\n{label(answer.language, 'evidence')}")).append_text(grade)
    return line
