"""Prepares a document for the store: reads it, chunks it into passages, extracts their search words and entities.

`prepare` runs in the sandboxed worker processes, so requests and replies are JSON objects.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.errors import reason_of
from veracity.knowledge.chunking import Chunk, chunk
from veracity.language import Language, entities, guess_language, search_tokens, title_entity
from veracity.reading.base import Reading, Unreadable

if TYPE_CHECKING:
    from veracity.settings import KnowledgeSettings

TASK = f"{__name__}:prepare"

# Increment with every change to chunking or indexing: existing workspaces then ask for a reindex.
RECIPE = 1
UNCHANGED = "unchanged"  # the `unreadable` reason of a file whose digest is `known_digest`
_SURROGATE = re.compile("[\ud800-\udfff]")


def prepare(request: dict[str, Any]) -> dict[str, Any]:
    """Prepare the file at `path`, or the given `text`.

    Returns what is stored of the document, or `{"unreadable": [status, reason]}`.
    """
    try:
        reading, digest = _read(request)
    except Unreadable as problem:
        return {"unreadable": [problem.status, problem.reason]}
    title = request.get("title") or reading.title or Path(request.get("path", "")).stem
    language = guess_language(reading.text)
    keys: Counter[str] = Counter()
    chunks = chunk(reading.text, markdown=reading.markdown, pages=reading.pages, **request["chunking"])
    return {
        "text": reading.text,
        "title": title,
        "format": reading.format,
        "pages": list(reading.pages),
        "markdown": reading.markdown,
        "digest": digest,
        "metadata": dict(reading.metadata),
        "language": language,
        "passages": [_passage(piece, title, language, keys) for piece in chunks],
    }


def chunking_options(settings: KnowledgeSettings) -> dict[str, int]:
    """The `chunking` field of a request."""
    return {
        "max_tokens": settings.passage_tokens,
        "overlap_tokens": min(settings.overlap_tokens, settings.passage_tokens // 2),
    }


def passage_context(title: str, headings: Sequence[str], text: str) -> str:
    """The title and headings above a passage that its text does not repeat. Embedded together with the text."""
    return " – ".join(part for part in dict.fromkeys((title, *headings)) if part and part not in text)


def _read(request: dict[str, Any]) -> tuple[Reading, str]:
    """The text and the digest. Raises Unreadable."""
    if "path" in request:
        try:
            content = Path(request["path"]).read_bytes()
        except OSError as problem:
            raise Unreadable("failed", f"it cannot be read ({reason_of(problem)})") from None
        digest = hashlib.sha256(content).hexdigest()
        if digest == request.get("known_digest"):
            raise Unreadable("skipped", UNCHANGED)
        from veracity.reading.extract import extract  # noqa: PLC0415 - imports what detects and reads formats

        return extract(content, request["path"]), digest
    text = request["text"]
    if not text.strip():
        raise Unreadable("skipped", "it is empty")
    if _SURROGATE.search(text + request["title"]):
        raise Unreadable("failed", "its text holds a lone surrogate, which is not valid Unicode")
    reading = Reading(text, "", request["format"], request["markdown"], tuple(request["pages"]))
    return reading, request["digest"]


def _passage(piece: Chunk, title: str, document_language: Language, keys: Counter[str]) -> dict[str, Any]:
    """Words of the title and headings count for each passage below them. Repeated texts get distinct keys."""
    language = guess_language(piece.text)
    if language == "zh" and document_language == "ja":  # a Japanese passage without kana
        language = "ja"
    key = hashlib.blake2b(piece.text.encode(), digest_size=6).hexdigest()
    keys[key] += 1
    above = " ".join((title, *(heading for heading in piece.headings if heading not in piece.text)))
    names = dict.fromkeys(entities(piece.text, language))
    if subject := title_entity(title):
        names.setdefault(subject)
    return {
        "key": key if keys[key] == 1 else f"{key}-{keys[key]}",
        "start": piece.start,
        "end": piece.end,
        "headings": list(piece.headings),
        "page": piece.page,
        "language": language,
        "words": " ".join(search_tokens(above, language) + search_tokens(piece.text, language)),
        "entities": list(names),
    }
