"""`veracity ask`: the steps as they happen, then the answer with what it stands on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from veracity.cli.console import console, plain, score_style
from veracity.cli.evaluating import spent
from veracity.cli.ingesting import chosen, shown_path
from veracity.cli.steps import told, under_way
from veracity.engine import Veracity
from veracity.models import Answer, Citation, Evidence, Review, RunEvent

errors = Console(stderr=True, highlight=False)


def run(
    question: str,
    workspace: Path | None,
    max_rewrites: int | None,
    deadline: float | None,
    show_steps: bool,
    as_json: bool,
) -> None:
    with Veracity(chosen(workspace)) as engine:
        events = engine.stream(question, max_rewrites=max_rewrites, deadline=deadline)
        answer = _watched(events, show_steps)
    if as_json:
        print(answer.model_dump_json(indent=2))
        return
    show(answer)
    usage = f"; {spent(answer.usage)}" if answer.usage.calls else ""
    console.print(plain(f"Run {answer.run_id}, {answer.seconds:.1f} s{usage}", "dim"))


def _watched(events: Iterable[RunEvent], show_steps: bool) -> Answer:
    """What goes on is told on standard error, so that the answer alone can be piped on."""
    live: Any = errors.status("") if errors.is_terminal else nullcontext()
    with live:
        for event in events:
            if event.answer:
                return event.answer
            if event.kind == "started" and errors.is_terminal:
                live.update(plain(under_way(event.name)))
            elif event.step and show_steps:
                errors.print(told(event.step))
    raise AssertionError("a run ends with an answer or an error")


def show(answer: Answer) -> None:
    console.print(_text(answer))
    cited = _cited(answer)
    if cited:
        console.print(plain("\nSources", "bold"))
    for number, (evidence, quotes) in cited.items():
        console.print(_source(number, evidence))
        for quote in quotes:
            console.print(plain(f"    “{' '.join(quote.split())}”", "italic"))
    console.print()
    console.print(_verdicts(answer))
    for suggestion in answer.review.suggestions if answer.review else []:
        console.print(plain(f"  • {suggestion}"))
    for notice in answer.notices:
        console.print(plain(f"• {notice.text}", "yellow"))


def _text(answer: Answer) -> Text:
    """The answer; what is not supported is marked."""
    text = plain(answer.text, "bold" if answer.status == "abstained" else "")
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start >= 0:
            at = start + len(sentence.text)
            if sentence.states and not sentence.supported:
                text.stylize("red underline", start, at)
    return text


def _cited(answer: Answer) -> dict[int, tuple[Evidence, list[str]]]:
    found: dict[int, list[Citation]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            found.setdefault(citation.number, []).append(citation)
    return {
        number: (answer.evidence[number - 1], list(dict.fromkeys(one.quote for one in found[number] if one.quote)))
        for number in sorted(found)
    }


def _source(number: int, evidence: Evidence) -> Text:
    where = " › ".join(dict.fromkeys([evidence.title or evidence.document_id, *evidence.headings]))
    page = "" if evidence.page is None else f", page {evidence.page}"
    line = plain(f"[{number}] {where}", "bold")
    return line.append_text(plain(f"\n    {shown_path(evidence.location) or evidence.document_id}{page}", "dim"))


def _verdicts(answer: Answer) -> Text:
    quality = answer.quality
    line = plain("Evidence: ").append_text(
        plain(f"{quality.grade} ({quality.score:.2f})", score_style(100 * quality.score))
    )
    if answer.review:
        line.append_text(plain(f"   Review: {reviewed(answer.review)}"))
    return line


def reviewed(review: Review) -> str:
    by = "the local checks" if review.reviewer == "local" else review.reviewer
    outcome = {
        "passed": f"passed by {by}",
        "failed": f"failed by {by}",
        "doubtful": f"doubted by {by}",
        "not_reviewed": "not reviewed",
    }
    return outcome[review.outcome]
