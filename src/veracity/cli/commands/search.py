"""`veracity search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from veracity.cli.ui.answers import format_source, strength_text
from veracity.cli.ui.console import console, plain, shown_path
from veracity.document_reader import matching_words
from veracity.engine import Veracity, require_workspace
from veracity.models import Evidence
from veracity.models.strength import Scale


def search(
    query: str,
    top_k: int,
    sources: Sequence[str] | None,
    only: Sequence[str],
    workspace: Path | None,
    as_json: bool,
) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        passages = engine.search(query, top_k, sources=sources or None, only=only)
        is_empty = not passages and not engine.documents()
        scale = engine.settings.scales.relevance
    if as_json:
        print(json.dumps([_as_data(passage, query) for passage in passages], ensure_ascii=False, indent=2))
    elif is_empty:
        console.print(plain("The workspace has no documents yet: add some with veracity ingest PATH."))
    elif not passages:
        console.print(plain("No passages found."))
    for rank, passage in enumerate(() if as_json else passages, 1):
        if rank > 1:
            console.print()
        console.print(_heading(rank, passage, scale))
        console.print(_marked_text(passage, query))


def _heading(rank: int, passage: Evidence, scale: Scale) -> Text:
    relevance = strength_text(passage.metadata.relevance_score, scale, "en")
    line = plain(f"{rank}. ", "bold").append_text(relevance)
    line.append_text(plain(f"  {format_source(passage)}", "bold"))
    page = "" if passage.page is None else f", page {passage.page}"
    location = shown_path(passage.location) or passage.document_id
    offsets = f"characters {passage.start}–{passage.end}"
    return line.append_text(plain(f"\n   {location}{page}, {offsets}, {passage.source}", "dim"))


def _marked_text(passage: Evidence, query: str) -> Text:
    text = plain(passage.text)  # replaces character by character: offsets stay valid
    for start, end in matching_words(passage.text, query):
        text.stylize("bold underline", start, end)
    return text


def _as_data(passage: Evidence, query: str) -> dict[str, object]:
    """`matches` are the offsets of the query's words in `text`."""
    return {**passage.model_dump(mode="json"), "matches": matching_words(passage.text, query)}
