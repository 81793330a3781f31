"""`veracity search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from veracity.cli.commands.ingest import chosen, shown_path
from veracity.cli.ui.console import console, plain, score_style
from veracity.engine import Veracity
from veracity.language import matching_spans
from veracity.models import Evidence


def run(query: str, top_k: int, sources: Sequence[str], workspace: Path | None, as_json: bool) -> None:
    with Veracity(chosen(workspace)) as engine:
        found = engine.search(query, top_k, sources=sources or None)
        is_empty = not found and not engine.documents()
    if as_json:
        print(json.dumps([_as_data(item, query) for item in found], ensure_ascii=False, indent=2))
    elif is_empty:
        console.print(plain("The workspace holds no documents yet: bring some in with veracity ingest PATH."))
    else:
        show(found, query)


def show(found: Sequence[Evidence], query: str) -> None:
    if not found:
        console.print(plain("Nothing was found."))
    for place, item in enumerate(found, 1):
        if place > 1:
            console.print()
        console.print(_head(place, item))
        console.print(_text(item, query))


def _head(place: int, item: Evidence) -> Text:
    score = item.metadata.relevance_score
    line = plain(f"{place}. ", "bold").append_text(plain(f"{score:.2f}", score_style(100 * score)))
    where = [item.title or item.document_id, *item.headings]
    line.append_text(plain("  " + " › ".join(dict.fromkeys(where)), "bold"))
    page = "" if item.page is None else f", page {item.page}"
    place_in = shown_path(item.location) or item.document_id
    return line.append_text(plain(f"\n   {place_in}{page}, characters {item.start}–{item.end}, {item.source}", "dim"))


def _text(item: Evidence, query: str) -> Text:
    """The passage as it stands, the words of the query marked."""
    text = plain(item.text)
    for start, end in matching_spans(item.text, query):  # unseen characters are replaced one by one: places stay
        text.stylize("bold underline", start, end)
    return text


def _as_data(item: Evidence, query: str) -> dict[str, object]:
    """`matches` are the places of the query's words in `text`."""
    return {**item.model_dump(mode="json"), "matches": matching_spans(item.text, query)}
