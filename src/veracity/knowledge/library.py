"""The documents of a workspace: bring in, list, forget, index anew. Whoever changes something holds the writer's lock.

Knows nothing about searching them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from veracity.embedding import Embedder
from veracity.errors import InputError
from veracity.knowledge.discovering import File, discover, is_meant
from veracity.knowledge.ingesting import Ingestion, Task
from veracity.knowledge.locking import writing
from veracity.knowledge.preparing import RECIPE
from veracity.knowledge.rows import Fingerprint
from veracity.knowledge.store import Store
from veracity.models import Document, IngestReport, KnownDocument, Outcome
from veracity.settings import KnowledgeSettings, ReadingSettings

# Is told what became of a document, and how many are still to come, where that is known.
Progress = Callable[[Outcome, int | None], None]
# A file changed this shortly before it was read may have been changed once more at the "same" time: nanoseconds.
UNCERTAIN = 2_000_000_000


class Library:
    def __init__(
        self, folder: Path, embedder: Embedder, knowledge: KnowledgeSettings, reading: ReadingSettings
    ) -> None:
        self._folder = folder
        self._reading = reading
        self.store = Store(str(folder), embedder.dimensions, _recipe(embedder, knowledge))
        self._ingestion = Ingestion(self.store, embedder, knowledge, reading)

    def ingest(self, paths: Sequence[Path | str], prune: bool, progress: Progress) -> IngestReport:
        """Bring in files. With `prune`, documents whose files are gone from there go too."""
        if not paths:
            raise InputError("There is nothing to ingest: name files, folders or patterns.")
        with writing(self._folder):
            self.store.require_same_recipe()
            found = list(discover(paths, max_megabytes=self._reading.max_megabytes, leave_out=self._folder))
            return self._report(self._ingest(found, paths if prune else ()), progress, len(found))

    def add(self, documents: Iterable[Document], progress: Progress) -> IngestReport:
        with writing(self._folder):
            self.store.require_same_recipe()
            known = {mark.document_id for mark in self.store.fingerprints()}
            tasks = (_text_task(document, document.id in known) for document in _once_each(documents))
            total = len(documents) if isinstance(documents, Sized) else None
            return self._report(self._ingestion.run(tasks), progress, total)

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the document with this id or path. Returns what was removed."""
        with writing(self._folder):
            path = os.path.abspath(Path(name).expanduser())
            gone = [one for one in self.store.documents() if one.id == name or (one.location and one.location == path)]
            if not gone:
                raise InputError(f'There is no document "{name}": "veracity documents" lists those there are.')
            self.store.forget([one.id for one in gone])
            self.store.maintain()
            return gone

    def reindex(self, progress: Progress) -> IngestReport:
        """Cut and embed every text anew, as the settings are now. Until all is done the old index stays in use."""
        with writing(self._folder):
            stored = [document.id for document in self.store.documents()]
            told: list[Outcome] = []

            def tables() -> Iterator[pa.Table]:
                for table, outcome in self._ingestion.tables(map(_stored_task, self.store.bodies())):
                    yield table
                    told.append(outcome)
                    progress(outcome, len(stored) - len(told))

            started = time.monotonic()
            self.store.rebuild(tables())
            self.store.maintain()
            return IngestReport(outcomes=told, seconds=time.monotonic() - started)

    def close(self) -> None:
        self._ingestion.close()

    def _report(self, outcomes: Iterator[Outcome], progress: Progress, total: int | None) -> IngestReport:
        started = time.monotonic()
        told: list[Outcome] = []
        for outcome in outcomes:
            told.append(outcome)
            progress(outcome, None if total is None else max(0, total - len(told)))
        if any(outcome.status in ("added", "updated", "removed") for outcome in told):
            self.store.maintain()
        return IngestReport(outcomes=told, seconds=time.monotonic() - started)

    def _ingest(self, found: list[File | Outcome], pruned: Sequence[Path | str]) -> Iterator[Outcome]:
        known = {mark.location: mark for mark in self.store.fingerprints() if mark.location}
        tasks = []
        for one in found:
            if isinstance(one, Outcome):
                yield one
            elif is_unchanged(one, known.get(one.path)):
                yield Outcome(name=one.path, status="unchanged", document_id=known[one.path].document_id)
            else:
                tasks.append(_file_task(one, known.get(one.path)))
        yield from self._ingestion.run(tasks)
        yield from self._prune(known, pruned)

    def _prune(self, known: dict[str, Fingerprint], paths: Sequence[Path | str]) -> Iterator[Outcome]:
        gone = [mark for path, mark in known.items() if not os.path.lexists(path) and is_meant(path, paths)]
        self.store.forget([mark.document_id for mark in gone])
        for mark in gone:
            yield Outcome(name=mark.location, status="removed", document_id=mark.document_id)


def is_unchanged(file: File, known: Fingerprint | None) -> bool:
    if known is None or (file.size, file.modified) != (known.size, known.modified):
        return False
    return known.added - file.modified > UNCERTAIN


def _recipe(embedder: Embedder, knowledge: KnowledgeSettings) -> dict[str, Any]:
    return {
        "embedder": embedder.name,
        "passage_tokens": knowledge.passage_tokens,
        "overlap_tokens": knowledge.overlap_tokens,
        "format": RECIPE,
    }


def _file_task(file: File, known: Fingerprint | None) -> Task:
    name = known.document_id if known else blake2b(file.path.encode(), digest_size=8).hexdigest()
    mark = Fingerprint(name, file.path, file.size, file.modified, "", time.time_ns())
    request = {"path": file.path, "known_digest": known.digest if known else None}
    return Task(file.path, request, mark, known is not None)


def _text_task(document: Document, is_known: bool) -> Task:
    mark = Fingerprint(document.id, "", len(document.text), 0, "", time.time_ns())
    request = _text_request(document.text, document.title, "text", document.markdown, [], "")
    return Task(document.id, request, mark, is_known, document.metadata)


def _stored_task(row: dict[str, Any]) -> Task:
    mark = Fingerprint(row["id"], row["location"], row["size"], row["modified"], row["digest"], row["added"])
    request = _text_request(row["text"], row["title"], row["format"], row["markdown"], row["pages"], row["digest"])
    return Task(row["location"] or row["id"], request, mark, True, json.loads(row["metadata"]))


def _text_request(
    text: str, title: str, kind: str, markdown: bool, pages: list[int], digest: str
) -> dict[str, Any]:
    return {"text": text, "title": title, "format": kind, "markdown": markdown, "pages": pages, "digest": digest}


def _once_each(documents: Iterable[Document]) -> Iterator[Document]:
    """Two with one id would both be written: which of them is meant is not ours to guess."""
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InputError(f'Two of the documents have the id "{document.id}": give each its own.')
        seen.add(document.id)
        yield document
