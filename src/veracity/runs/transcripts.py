"""A conversation to keep or to give away: its questions, released answers and sources, as data and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from veracity.agents.links import make_inert
from veracity.language import guess_language
from veracity.ledger import Ledger
from veracity.locales import section_texts
from veracity.models import Answer, PastTurn, Transcript, TranscriptSource, TranscriptTurn
from veracity.models.verdict import verdict
from veracity.printable import visible

MAX_TURNS = 1_000_000


def transcribe(ledger: Ledger, user: str, conversation: str, threshold: float) -> Transcript:
    """Raises `NotFoundError`. `threshold` is that of the score."""
    summary = ledger.conversation(user, conversation)
    turns = ledger.turns(user, conversation, MAX_TURNS, for_display=True)
    return Transcript(
        conversation=conversation,
        user=user,
        title=summary.title,
        started=summary.started,
        last=summary.last,
        turns=[_turn(ledger, turn, threshold) for turn in turns],
    )


def render_markdown(transcript: Transcript) -> str:
    """Labels are in the language of the title."""
    labels = section_texts(guess_language(transcript.title), "receipt")
    return "\n\n".join(visible(block) for block in _blocks(transcript, labels)) + "\n"


def _turn(ledger: Ledger, turn: PastTurn, threshold: float) -> TranscriptTurn:
    answer = ledger.answer(turn.run_id) if turn.answer else None
    return TranscriptTurn(
        number=turn.number,
        run_id=turn.run_id,
        asked=turn.asked,
        question=turn.question,
        only=list(ledger.parameters(turn.run_id).only),
        status=turn.status,
        answer=turn.answer,
        verdict=[part.text for part in verdict(answer, threshold, answer.language)] if answer else [],
        sources=_sources(answer) if answer else [],
    )


def _sources(answer: Answer) -> list[TranscriptSource]:
    quotes: dict[int, dict[str, None]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            quotes.setdefault(citation.number, {})[citation.quote] = None
    return [
        TranscriptSource(number=number, title=passage.title, location=passage.location, quotes=list(quotes[number]))
        for number, passage in enumerate(answer.evidence, 1)
        if number in quotes
    ]


def _blocks(transcript: Transcript, labels: dict[str, str]) -> Iterator[str]:
    yield f"# {_line(transcript.title)}"
    yield f"{labels['user']}: {_line(transcript.user)} · {transcript.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    for turn in transcript.turns:
        yield f"## {turn.number}. {_line(turn.question)}"
        details = [f"{turn.asked.astimezone(UTC):%Y-%m-%d %H:%M} UTC", *turn.verdict]
        if not turn.verdict:
            details.append(labels.get(f"status.{turn.status}", turn.status))
        if turn.only:
            details.append(f"{labels['only']}: {labels['comma'].join(map(_line, turn.only))}")
        yield f"*{' · '.join(details)}*"
        if turn.answer:
            yield turn.answer
        yield from _source_blocks(turn, labels)


def _source_blocks(turn: TranscriptTurn, labels: dict[str, str]) -> Iterator[str]:
    if turn.sources:
        yield f"**{labels['sources']}**"
    for source in turn.sources:
        location = f" ({_line(source.location)})" if source.location else ""
        quotes = (f"\n  > {_line(quote)}" for quote in source.quotes)
        yield f"- [{source.number}] {_line(source.title or source.location)}{location}{''.join(quotes)}"


def _line(text: str) -> str:
    """On one line, without links and images: it may come from a document."""
    return make_inert(" ".join(text.split()), [text])
