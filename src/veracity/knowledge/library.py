"""The documents of a workspace: bring in, forget, index anew. Whoever changes something holds the writer's lock.

Knows nothing about searching them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from veracity.embedding import Embedder
from veracity.errors import BusyError, InputError, KnowledgeError, NotFoundError, reason_of
from veracity.knowledge import ingest as ingest_module
from veracity.knowledge.discovery import EMPTY, File, discover, vanished
from veracity.knowledge.file_names import Places
from veracity.knowledge.ingest import Ingestion, Task
from veracity.knowledge.prepare import RECIPE
from veracity.knowledge.rows import Fingerprint
from veracity.knowledge.store import Store
from veracity.models import Document, IngestReport, KnownDocument, Outcome
from veracity.secrets import presentable
from veracity.settings import KnowledgeSettings, ReadingSettings


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise BusyError at once when another process or thread writes there."""
    lock = FileLock(folder / ".writer.lock", timeout=0, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f'The documents in "{folder}" are being changed by {_holder(folder)}: try again when that has finished.'
        ) from None
    except (OSError, NotImplementedError) as problem:  # some network drives know no locks
        raise KnowledgeError(
            f'"{folder}" cannot be written ({reason_of(problem)}): make it a writable folder.'
        ) from None
    try:
        with contextlib.suppress(OSError):  # it is for a message only
            (folder / ".writer.pid").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(folder: Path) -> str:
    try:
        number = int((folder / ".writer.pid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return "another process"
    return "another thread of this process" if number == os.getpid() else f"process {number}"


# Is told what became of a document, and how many are still to come, where that is known.
Progress = Callable[[Outcome, int | None], None]


def forget(
    store: Store, folder: Path, name: str, places: Places, also: Callable[[list[str]], None] = lambda ids: None
) -> list[KnownDocument]:
    """Remove the document with this id, path or location. Returns what was removed. The store needs no embedder.

    `also` forgets them elsewhere. It is called before, since what is gone from here cannot be named again after a kill,
    and after, for what was found here in between.
    """
    with writing(folder):
        place, known = places.location_of(os.path.abspath(os.path.expanduser(name))), store.documents()
        gone = [one for one in known if one.id == name or one.location == place]
        gone = gone or [one for one in known if one.location and one.location == name]
        if not gone:
            told = presentable(name)
            raise NotFoundError(f'There is no document "{told}": "veracity documents" lists those there are.')
        ids = [one.id for one in gone]
        also(ids)
        store.forget(ids)
        also(ids)
        store.maintain()
        return gone


class Library:
    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        knowledge: KnowledgeSettings,
        reading: ReadingSettings,
        leave_out: Sequence[Path] = (),
        uploads: Path | None = None,
    ) -> None:
        """`leave_out` are files and folders that are nobody's documents, beside the `folder` itself. `uploads` is the
        folder of those that were handed in."""
        self._folder = folder
        self._leave_out = (folder, *leave_out)
        self._places = Places(uploads)
        self._reading = reading
        self.store = Store(folder, lambda: embedder.dimensions, _recipe(embedder, knowledge))
        self._ingestion = Ingestion(self.store, embedder, knowledge, reading)

    def ingest(self, paths: Sequence[Path | str], prune: bool, progress: Progress) -> IngestReport:
        """Bring in files. With `prune`, documents whose files are gone from there go too."""
        if not paths:
            raise InputError("There is nothing to ingest: name files, folders or patterns.")
        if not self._folder.exists():  # a wrong path must not leave a workspace behind
            list(discover(paths, max_megabytes=self._reading.max_megabytes, leave_out=self._leave_out))
        with writing(self._folder):
            self.store.require_same_recipe()
            known = {mark.document_id: mark for mark in self.store.fingerprints()}
            stored = [mark.location for mark in known.values() if mark.location] if prune else []
            files = set(map(self._places.path_of, stored))
            megabytes = self._reading.max_megabytes
            found = list(discover(paths, max_megabytes=megabytes, leave_out=self._leave_out, remembered=files))
            gone = vanished(files, paths)
            return self._report(self._ingest(found, gone, known), progress, len(found) + len(gone))

    def add(self, documents: Iterable[Document], progress: Progress) -> IngestReport:
        """Bring in texts. One that is known replaces what was there, also within `documents`."""
        with writing(self._folder):
            self.store.require_same_recipe()
            total = len(documents) if isinstance(documents, Sized) else None
            return self._report(self._ingestion.run(self._text_tasks(documents)), progress, total)

    def forget(self, name: str) -> list[KnownDocument]:
        return forget(self.store, self._folder, name, self._places)

    def reindex(self, progress: Progress) -> IngestReport:
        """Cut and embed every text anew, as the settings are now. Until all is done the old index stays in use."""
        with writing(self._folder):
            started = time.monotonic()
            stored = len(self.store.fingerprints())
            told: list[Outcome] = []

            def tables() -> Iterator[pa.Table]:
                for table, outcomes in self._ingestion.tables(map(ingest_module.of_stored, self.store.bodies())):
                    yield table
                    for outcome in outcomes:
                        told.append(outcome)
                        progress(outcome, stored - len(told))

            if stored:
                self.store.rebuild(tables())
                self.store.maintain(purge=True)
            return IngestReport(outcomes=told, seconds=time.monotonic() - started)

    def close(self) -> None:
        self._ingestion.close()

    def _ingest(self, found: list[File | Outcome], gone: list[str], known: dict[str, Fingerprint]) -> Iterator[Outcome]:
        changed = []
        for one in found:
            location = self._places.location_of(one.name if isinstance(one, Outcome) else one.path)
            mark = known.get(ingest_module.id_of(location))
            if isinstance(one, Outcome):
                yield one if mark is None or mark.location != location else self._given_up(one, mark)
            elif ingest_module.is_unchanged(one, location, mark):
                yield Outcome(name=one.path, status="unchanged", document_id=ingest_module.id_of(location))
            else:
                changed.append(ingest_module.of_file(one, location, mark))
        yield from self._ingestion.run(changed)
        ids = [ingest_module.id_of(self._places.location_of(path)) for path in gone]
        self.store.forget(ids)
        yield from (Outcome(name=path, status="removed", document_id=one) for path, one in zip(gone, ids, strict=True))

    def _given_up(self, outcome: Outcome, known: Fingerprint) -> Outcome:
        return self._ingestion.give_up(outcome, known.document_id, is_certain=outcome.reason == EMPTY)

    def _text_tasks(self, documents: Iterable[Document]) -> Iterator[Task]:
        known = {mark.document_id for mark in self.store.fingerprints()}
        for document in documents:
            if not isinstance(document, Document):
                raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(document).__name__}.")
            yield ingest_module.of_document(document, document.id in known)
            known.add(document.id)

    def _report(self, outcomes: Iterator[Outcome], progress: Progress, total: int | None) -> IngestReport:
        started = time.monotonic()
        told: list[Outcome] = []
        for outcome in outcomes:
            told.append(outcome)
            progress(outcome, None if total is None else max(0, total - len(told)))
        self.store.maintain()
        return IngestReport(outcomes=told, seconds=time.monotonic() - started)


def _recipe(embedder: Embedder, knowledge: KnowledgeSettings) -> dict[str, Any]:
    return {
        "embedder": embedder.name,
        "passage_tokens": knowledge.passage_tokens,
        "overlap_tokens": knowledge.overlap_tokens,
        "format": RECIPE,
    }
