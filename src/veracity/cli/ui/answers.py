"""An answer for people: its text, what it stands on, and what was thought of it. Knows nothing about commands."""

from __future__ import annotations

from rich.text import Text

from veracity.cli.commands.ingest import shown_path
from veracity.cli.ui.console import console, plain, score_style
from veracity.models import Answer, Citation, Evidence, Review

WAITING = "awaiting_approval"


def show(answer: Answer, *, brief: bool = False) -> None:
    """`brief`: the sources without what they say."""
    console.print(_text(answer))
    if answer.status == WAITING:  # the draft is another's to see, and so is what was thought of it
        return
    cited = _cited(answer)
    if cited:
        console.print(plain("\nSources", "bold") if not brief else "")
    for number, (evidence, quotes) in cited.items():
        console.print(_line(number, evidence) if brief else _source(number, evidence))
        for quote in quotes if not brief else ():
            console.print(plain(f"    “{' '.join(quote.split())}”", "italic"))
    if verdicts := _verdicts(answer):
        console.print()
        console.print(verdicts)
    for suggestion in answer.review.suggestions if answer.review else []:
        console.print(plain(f"  • {suggestion}"))
    for notice in answer.notices:
        console.print(plain(f"• {notice.text}", "yellow"))
        for sentence in _unsupported(answer) if notice.code == "unsupported" else ():
            console.print(plain(f"  – {' '.join(sentence.split())}", "red"))


def show_sources(answer: Answer) -> None:
    """Every passage that is cited, whole, with what is quoted of it marked."""
    cited = _cited(answer)
    if not cited:
        console.print(plain("The last answer cites nothing."))
    for number, (evidence, quotes) in cited.items():
        console.print(_source(number, evidence))
        text = plain(evidence.text)
        for quote in quotes:
            start = evidence.text.find(quote)  # unseen characters are replaced one by one: places stay
            if start >= 0:
                text.stylize("bold underline", start, start + len(quote))
            else:
                console.print(plain(f"    “{' '.join(quote.split())}”", "italic"))
        console.print(text)
        console.print()


def reviewed(review: Review) -> str:
    by = "the local checks" if review.reviewer == "local" else review.reviewer
    outcome = {
        "passed": f"passed by {by}",
        "failed": f"failed by {by}",
        "doubtful": f"doubted by {by}",
        "not_reviewed": "not reviewed",
    }
    return outcome[review.outcome]


def _text(answer: Answer) -> Text:
    """The answer; what is not supported is marked."""
    text = plain(answer.text, "bold" if answer.status in ("abstained", WAITING) else "")
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start >= 0:
            at = start + len(sentence.text)
            if sentence.states and not sentence.supported:
                text.stylize("red underline", start, at)
    return text


def _unsupported(answer: Answer) -> list[str]:
    return [one.text for one in answer.sentences if one.states and not one.supported]


def _cited(answer: Answer) -> dict[int, tuple[Evidence, list[str]]]:
    found: dict[int, list[Citation]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            found.setdefault(citation.number, []).append(citation)
    return {
        number: (answer.evidence[number - 1], list(dict.fromkeys(one.quote for one in found[number] if one.quote)))
        for number in sorted(found)
    }


def _line(number: int, evidence: Evidence) -> Text:
    where = " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))
    page = "" if evidence.page is None else f", page {evidence.page}"
    return plain(f"[{number}] {where}{page}", "dim")


def _source(number: int, evidence: Evidence) -> Text:
    where = " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))
    page = "" if evidence.page is None else f", page {evidence.page}"
    line = plain(f"[{number}] {where}", "bold")
    return line.append_text(plain(f"\n    {shown_path(evidence.location) or evidence.document_id}{page}", "dim"))


def _verdicts(answer: Answer) -> Text:
    """Empty where nothing was examined: a courtesy. What a person wrote in place of a draft was neither reviewed nor
    scored."""
    told: list[Text] = []
    if answer.quality:
        graded = f"{answer.quality.grade} ({answer.quality.score:.2f})"
        told.append(plain("Evidence: ").append_text(plain(graded, score_style(100 * answer.quality.score))))
    if answer.review:
        told.append(plain(f"Review: {reviewed(answer.review)}"))
    if answer.score is not None:
        told.append(plain("Score: ").append_text(plain(f"{answer.score:.2f}", score_style(100 * answer.score))))
    return plain("   ").join(told)
