"""Makes a document ready to be stored: reads it, cuts it into passages, finds their words and names.

Runs in the capped worker processes, so what comes out is plain data. Knows nothing about embedding or the store.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from veracity.errors import reason_of
from veracity.knowledge.chunking import Chunk, chunk
from veracity.language import Language, entities, guess_language, search_tokens, title_entity
from veracity.reading import Reading, Unreadable, extract

TASK = f"{__name__}:prepare"

# Raise it with every change that cuts or indexes texts differently: workspaces made before ask for a reindex then.
RECIPE = 1
UNCHANGED = "unchanged"  # the reason why nothing comes of a file that holds what it held


def prepare(request: dict[str, Any]) -> dict[str, Any]:
    """`path` is a file to read, or `text` is there already; `cut` tells how to cut it into passages.

    The answer holds all that is stored of the document, or as `unreadable` why nothing comes of it.
    """
    try:
        reading, digest = _read(request)
    except Unreadable as problem:
        return {"unreadable": [problem.status, problem.reason]}
    title = request.get("title") or reading.title or Path(request.get("path", "")).stem
    language = guess_language(reading.text)
    cut = chunk(reading.text, markdown=reading.markdown, pages=reading.pages, **request["cut"])
    return {
        "text": reading.text,
        "title": title,
        "format": reading.format,
        "pages": list(reading.pages),
        "markdown": reading.markdown,
        "digest": digest,
        "language": language,
        "passages": _passages(cut, title, language),
    }


def _read(request: dict[str, Any]) -> tuple[Reading, str]:
    if "path" in request:
        content = _content(request["path"])
        digest = hashlib.sha256(content).hexdigest()
        if digest == request.get("known_digest"):
            raise Unreadable("skipped", UNCHANGED)
        return extract(content, request["path"]), digest
    text = request["text"]
    if not text.strip():
        raise Unreadable("skipped", "it is empty")
    if not _is_unicode(text + request["title"]):
        raise Unreadable("failed", "its text holds half a character (a lone surrogate), which is no Unicode")
    reading = Reading(text, "", request["format"], request["markdown"], tuple(request["pages"]))
    return reading, request["digest"]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise Unreadable("failed", f"it cannot be read ({reason_of(problem)})") from None


def _passages(cut: list[Chunk], title: str, around: Language) -> list[dict[str, Any]]:
    """The words of title and headings count for each passage under them; repeated texts get ids of their own."""
    seen: Counter[str] = Counter()
    return [_passage(one, title, _language(one.text, around), seen) for one in cut]


def _language(text: str, around: Language) -> Language:
    """A passage without kana in a Japanese document is Japanese."""
    language = guess_language(text)
    return around if language == "zh" and around == "ja" else language


def _passage(one: Chunk, title: str, language: Language, seen: Counter[str]) -> dict[str, Any]:
    mark = hashlib.blake2b(one.text.encode(), digest_size=6).hexdigest()
    seen[mark] += 1
    above = " ".join((title, *(heading for heading in one.headings if heading not in one.text)))
    named = dict.fromkeys(entities(one.text, language))
    if about := title_entity(title):
        named.setdefault(about)
    return {
        "mark": mark if seen[mark] == 1 else f"{mark}-{seen[mark]}",
        "start": one.start,
        "end": one.end,
        "headings": list(one.headings),
        "page": one.page,
        "language": language,
        "words": " ".join(search_tokens(above, language) + search_tokens(one.text, language)),
        "entities": list(named),
    }


def context(title: str, headings: tuple[str, ...] | list[str], text: str) -> str:
    """What a passage stands under and does not say itself: read with it, it tells what the passage is about."""
    return " – ".join(part for part in dict.fromkeys((title, *headings)) if part and part not in text)
