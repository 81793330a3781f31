"""Prints an answer: its text, sources, verdicts and notices."""

from __future__ import annotations

from rich.text import Text

from veracity.cli.ui.console import console, one_line, plain, score_style, shown_path
from veracity.models import Answer, AnswerSentence, Evidence, Review

AWAITING = "awaiting_approval"
REVIEWS = {
    "passed": "passed by {reviewer}",
    "failed": "failed by {reviewer}",
    "doubtful": "doubted by {reviewer}",
    "not_reviewed": "not reviewed",
}


def show_answer(answer: Answer, *, brief: bool = False) -> None:
    """`brief` leaves out the quotes of the sources."""
    console.print(_marked_text(answer))
    if answer.status == AWAITING:  # only approvers may see the draft and its verdicts
        return
    sources = _sources(answer)
    if sources:
        console.print("" if brief else plain("\nSources", "bold"))
    for number, (evidence, quotes) in sources.items():
        console.print(_source(number, evidence, brief))
        for quote in () if brief else quotes:
            console.print(_quote(quote))
    if verdicts := _verdicts(answer):
        console.print()
        console.print(verdicts)
    for suggestion in answer.review.suggestions if answer.review else []:
        console.print(plain(f"  • {suggestion}"))
    for notice in answer.notices:
        console.print(plain(f"• {notice.text}", "yellow"))
        for sentence in filter(_is_unsupported, answer.sentences) if notice.code == "unsupported" else ():
            console.print(plain(f"  – {one_line(sentence.text)}", "red"))


def show_sources(answer: Answer) -> None:
    """Print every cited passage in full, with its quotes marked."""
    sources = _sources(answer)
    if not sources:
        console.print(plain("The last answer has no citations."))
    for number, (evidence, quotes) in sources.items():
        console.print(_source(number, evidence))
        text = plain(evidence.text)
        for quote in quotes:
            start = evidence.text.find(quote)  # `plain` replaces character by character: offsets stay valid
            if start >= 0:
                text.stylize("bold underline", start, start + len(quote))
            else:
                console.print(_quote(quote))
        console.print(text)
        console.print()


def format_review(review: Review) -> str:
    reviewer = "the local checks" if review.reviewer == "local" else review.reviewer
    return REVIEWS[review.outcome].format(reviewer=reviewer)


def format_source(evidence: Evidence) -> str:
    return " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))


def _marked_text(answer: Answer) -> Text:
    """The answer's text, unsupported sentences marked."""
    text = plain(answer.text, "bold" if answer.status in ("abstained", AWAITING) else "")
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start >= 0:
            at = start + len(sentence.text)
            if _is_unsupported(sentence):
                text.stylize("red underline", start, at)
    return text


def _is_unsupported(sentence: AnswerSentence) -> bool:
    return sentence.states and not sentence.supported


def _sources(answer: Answer) -> dict[int, tuple[Evidence, list[str]]]:
    """The cited evidence by number, each with its quotes."""
    quotes: dict[int, dict[str, None]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            quotes.setdefault(citation.number, {}).update({citation.quote: None} if citation.quote else {})
    return {number: (answer.evidence[number - 1], list(quotes[number])) for number in sorted(quotes)}


def _source(number: int, evidence: Evidence, brief: bool = False) -> Text:
    page = "" if evidence.page is None else f", page {evidence.page}"
    title = f"[{number}] {format_source(evidence)}"
    if brief:
        return plain(f"{title}{page}", "dim")
    location = shown_path(evidence.location) or evidence.document_id
    return plain(title, "bold").append_text(plain(f"\n    {location}{page}", "dim"))


def _quote(quote: str) -> Text:
    return plain(f"    “{one_line(quote)}”", "italic")


def _verdicts(answer: Answer) -> Text:
    """Empty for small talk, which is not examined; an edited answer has no review and no score."""
    verdicts: list[Text] = []
    if answer.quality:
        grade = f"{answer.quality.grade} ({answer.quality.score:.2f})"
        verdicts.append(plain("Evidence: ").append_text(plain(grade, score_style(100 * answer.quality.score))))
    if answer.review:
        verdicts.append(plain(f"Review: {format_review(answer.review)}"))
    if answer.score is not None:
        verdicts.append(plain("Score: ").append_text(plain(f"{answer.score:.2f}", score_style(100 * answer.score))))
    return plain("   ").join(verdicts)
