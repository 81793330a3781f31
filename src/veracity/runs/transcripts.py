"""A conversation to keep or to give away: its questions, released answers and sources, as data and as Markdown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import TYPE_CHECKING

from veracity.agents.links import make_inert
from veracity.language import guess_language
from veracity.ledger import Ledger
from veracity.locales import section_texts
from veracity.models import Answer, Citation, Evidence, PastTurn, Transcript, TranscriptSource, TranscriptTurn
from veracity.models.verdict import verdict
from veracity.printable import visible
from veracity.settings import ApprovalSettings

if TYPE_CHECKING:
    from veracity.knowledge.store import Store  # imports LanceDB

MAX_TURNS = 1_000_000
# What Markdown would read as emphasis, code, a link, a tag or an entity. An underscore inside of a word is none.
_MARKUP = re.compile(r"[\\`*\[\]<]|~(?=~)|(?<=~)~|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,40};)")
_BLOCK_START = re.compile(r"^(\d{0,9})(>|[#+.)-](?=[\s#-]|$))")  # a heading, quote, or list item


def transcribe(ledger: Ledger, store: Store, user: str, conversation: str, gate: ApprovalSettings) -> Transcript:
    """Raises `NotFoundError`. `store` knows the pages of documents; `gate` has the threshold of the score."""
    summary = ledger.conversation(user, conversation)
    turns = ledger.turns(user, conversation, MAX_TURNS, for_display=True)
    return Transcript(
        conversation=conversation,
        user=user,
        title=summary.title,
        started=summary.started,
        last=summary.last,
        turns=[_turn(ledger, store, turn, gate) for turn in turns],
    )


def render_markdown(transcript: Transcript) -> str:
    """Labels are in the language of the title."""
    labels = section_texts(guess_language(transcript.title), "receipt")
    return "\n\n".join(visible(block) for block in _blocks(transcript, labels)) + "\n"


def _turn(ledger: Ledger, store: Store, turn: PastTurn, gate: ApprovalSettings) -> TranscriptTurn:
    answer = ledger.answer(turn.run_id) if turn.answer else None
    return TranscriptTurn(
        number=turn.number,
        run_id=turn.run_id,
        asked=turn.asked,
        question=turn.question,
        only=list(ledger.parameters(turn.run_id).only),
        status=turn.status,
        answer=turn.answer,
        verdict=_verdict(answer, gate) if answer else [],
        sources=_sources(answer, store) if answer else [],
    )


def _verdict(answer: Answer, gate: ApprovalSettings) -> list[str]:
    threshold = gate.for_language(answer.language).threshold
    return [part.text for part in verdict(answer, threshold, answer.language)]


def _sources(answer: Answer, store: Store) -> list[TranscriptSource]:
    cited: dict[int, dict[str, Citation]] = {}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            cited.setdefault(citation.number, {})[citation.quote] = citation
    return [
        TranscriptSource(
            number=number,
            title=passage.title,
            location=passage.location,
            pages=_pages(passage, cited[number].values(), store),
            quotes=list(cited[number]),
        )
        for number, passage in enumerate(answer.evidence, 1)
        if number in cited
    ]


def _pages(passage: Evidence, citations: Iterable[Citation], store: Store) -> list[int]:
    """The pages on which the quotes begin; that of the passage if its document has changed or is gone."""
    if passage.page is None:
        return []
    text, starts = store.text(passage.document_id) or "", store.page_starts(passage.document_id)
    found = {
        bisect_right(starts, citation.start) if text[citation.start : citation.end] == citation.quote else 0
        for citation in citations
    }
    return sorted({page or passage.page for page in found})


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
        page = labels["page"].format(number=labels["comma"].join(map(str, source.pages))) if source.pages else ""
        places = [place for place in (_line(source.location), page) if place]
        location = f" ({' · '.join(places)})" if places else ""
        quotes = (f"\n  > {_line(quote)}" for quote in source.quotes)
        yield f"- [{source.number}] {_line(source.title or source.location)}{location}{''.join(quotes)}"


def _line(text: str) -> str:
    """On one line, without links and images, and as it is written: it may come from a document."""
    inert = make_inert(" ".join(text.split()), [text])
    return _BLOCK_START.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", inert))
