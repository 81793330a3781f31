"""What there is to do for a file, a text in memory or a stored text, as a task for `ingesting`.

Knows nothing about the store or how tasks are done.
"""

from __future__ import annotations

import json
import time
from hashlib import blake2b
from typing import Any

from veracity.knowledge.discovering import File
from veracity.knowledge.ingesting import Task
from veracity.knowledge.rows import Fingerprint
from veracity.models import Document


def id_of(location: str) -> str:
    """A file's document is called by its place, so that it stays the same document whatever the file holds."""
    return blake2b(location.encode(), digest_size=8).hexdigest()


def is_unchanged(file: File, location: str, known: Fingerprint | None) -> bool:
    """By its looks. False where only reading it can tell."""
    if known is None or not known.is_certain:
        return False
    return (location, file.size, file.modified) == (known.location, known.size, known.modified)


def of_file(file: File, location: str, known: Fingerprint | None) -> Task:
    """`known` is the document that has its id: it may have been handed in as a text, and is replaced then."""
    now = time.time_ns()
    mark = Fingerprint(id_of(location), location, file.size, file.modified, "", now, now)
    digest = known.digest if known and known.location == location else None
    return Task(file.path, {"path": file.path, "known_digest": digest}, mark, known is not None)


def of_document(document: Document, is_known: bool) -> Task:
    now = time.time_ns()
    mark = Fingerprint(document.id, "", len(document.text), 0, "", now, now)
    request = _text_request(document.text, document.title, "text", document.markdown, [], "")
    return Task(document.id, request, mark, is_known, document.metadata)


def of_stored(row: dict[str, Any]) -> Task:
    mark = Fingerprint(
        row["document_id"], row["location"], row["size"], row["modified"], row["digest"], row["added"], row["checked"]
    )
    request = _text_request(row["text"], row["title"], row["format"], row["markdown"], row["pages"], row["digest"])
    return Task(row["location"] or row["document_id"], request, mark, True, json.loads(row["metadata"]))


def _text_request(text: str, title: str, kind: str, markdown: bool, pages: list[int], digest: str) -> dict[str, Any]:
    return {"text": text, "title": title, "format": kind, "markdown": markdown, "pages": pages, "digest": digest}
