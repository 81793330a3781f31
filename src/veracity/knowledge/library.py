"""The documents of a workspace: ingest, add, forget, reindex. Every change holds the writer lock."""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
from filelock import FileLock, Timeout

from veracity.embedding import Embedder
from veracity.errors import BusyError, InputError, KnowledgeError, NotFoundError, reason_of
from veracity.knowledge.discovery import EMPTY, File, discover, find_deleted
from veracity.knowledge.file_names import Locations
from veracity.knowledge.ingest import KEPT, Ingestion, Task, file_document_id
from veracity.knowledge.location import FolderLocation, Location, SharedLock, as_location, require_shared_lock
from veracity.knowledge.prepare import RECIPE
from veracity.knowledge.purge import is_purge_due
from veracity.knowledge.rows import Fingerprint
from veracity.knowledge.selection import Selection
from veracity.knowledge.store import Store
from veracity.models import Document, IngestReport, KnownDocument, Outcome
from veracity.secrets import presentable
from veracity.settings import KnowledgeSettings, ReadingSettings
from veracity.workspace import make_private_folder

# Called with each outcome and the number of documents still to come, if that is known.
Progress = Callable[[Outcome, int | None], None]


LOCK_NAME = "knowledge"


class Library:
    def __init__(
        self,
        place: Path | Location,
        embedder: Embedder,
        knowledge: KnowledgeSettings,
        reading: ReadingSettings,
        exclude: Sequence[Path] = (),
        locations: Locations | None = None,
        shared_lock: SharedLock | None = None,
    ) -> None:
        """`exclude` lists files and folders that are never ingested, in addition to the folder of the documents.

        A location that other machines share can only be changed with a `shared_lock`.
        """
        location = as_location(place)
        own = (location.folder,) if isinstance(location, FolderLocation) else ()
        self._exclude = (*own, *exclude)
        self._locations = locations or Locations(None)
        self._shared_lock = shared_lock
        self._reading = reading
        tokens = {"passage_tokens": knowledge.passage_tokens, "overlap_tokens": knowledge.overlap_tokens}
        recipe = {"embedder": embedder.name, **tokens, "format": RECIPE}
        self.store = Store(location, lambda: embedder.dimensions, recipe)
        self._ingestion = Ingestion(self.store, embedder, knowledge, reading)

    def ingest(
        self, paths: Sequence[Path | str], prune: bool, progress: Progress, selection: Selection | None = None
    ) -> IngestReport:
        """Ingest files. With `prune`, also forget the documents under `paths` whose files were deleted."""
        if not paths:
            raise InputError("There is nothing to ingest: name files, folders or patterns.")
        selection = selection or Selection()
        if self.store.location.lacks(""):  # a wrong path must not create a workspace
            list(self._discover(paths, selection))
        with self._writer_lock():
            self.store.require_same_recipe()
            known = {fingerprint.document_id: fingerprint for fingerprint in self.store.fingerprints()}
            locations = [fingerprint.location for fingerprint in known.values() if fingerprint.location]
            stored = self._locations.paths_of(locations) if prune else set()
            files = list(self._discover(paths, selection, stored))
            deleted = find_deleted(stored, paths)
            report = self._report(self._ingest(files, deleted, known), progress, len(files) + len(deleted))
            left_out = selection.counts(file.path for file in files if isinstance(file, File))
            return report.model_copy(update={"left_out": left_out})

    def add(self, documents: Iterable[Document], progress: Progress) -> IngestReport:
        """Add texts. A document replaces an earlier one with the same id."""
        with self._writer_lock():
            self.store.require_same_recipe()
            total = len(documents) if isinstance(documents, Sized) else None
            return self._report(self._ingestion.run(self._text_tasks(documents)), progress, total)

    def forget(self, name: str) -> list[KnownDocument]:
        return forget(self.store, name, self._locations, shared_lock=self._shared_lock)

    def reindex(self, progress: Progress) -> IngestReport:
        """Chunk and embed all stored texts with the current settings. The old index stays in use until all is done."""
        with self._writer_lock():
            started = time.monotonic()
            total = len(self.store.fingerprints())
            reported: list[Outcome] = []

            def tables() -> Iterator[pa.Table]:
                for table, outcomes in self._ingestion.tables(map(Task.from_row, self.store.document_rows())):
                    yield table
                    for outcome in outcomes:
                        reported.append(outcome)
                        progress(outcome, total - len(reported))

            if total:
                self.store.rebuild(tables())
                self.store.maintain(purge=True)
            return IngestReport(outcomes=reported, seconds=time.monotonic() - started)

    def prepare(
        self, files: Iterable[tuple[File, str]], read_anyway: Collection[str] = ()
    ) -> Iterator[tuple[str, pa.Table | Outcome]]:
        """Read and embed files, each with its location, without a lock and without storing anything. Yields by location
        the rows for `committing`, or why there are none. Unchanged files are not embedded, unless their location is in
        `read_anyway`."""
        self.store.require_same_recipe()
        known = {fingerprint.document_id: fingerprint for fingerprint in self.store.fingerprints()}

        def task_of(file: File, location: str) -> Task:
            stored = None if location in read_anyway else known.get(file_document_id(location))
            return Task.from_file(file, location, stored)

        for task, prepared in self._ingestion.rows_by_document(task_of(*file) for file in files):
            is_refused = isinstance(prepared, Outcome) and prepared.status != "unchanged"
            kept = {"reason": f"{prepared.reason}; {KEPT}"} if is_refused and task.document_id in known else {}
            yield task.fingerprint.location, prepared.model_copy(update=kept) if kept else prepared

    def is_current(self, table: pa.Table) -> bool:
        """Whether the rows were prepared with the settings of this library."""
        return bool(table.schema.equals(self.store.schema, check_metadata=True))

    @contextmanager
    def committing(self) -> Iterator[Callable[[Sequence[pa.Table]], list[Outcome]]]:
        """Hold the writer lock. Yields a function that stores documents from `prepare` in one commit."""
        with self._writer_lock():
            self.store.require_same_recipe()
            known = {fingerprint.document_id: fingerprint for fingerprint in self.store.fingerprints()}
            yield partial(self._ingestion.commit, known)
            self.store.maintain()

    def close(self) -> None:
        self._ingestion.close()

    def _writer_lock(self) -> AbstractContextManager[None]:
        return _exclusive(self.store, self._shared_lock)

    def _discover(
        self, paths: Sequence[Path | str], selection: Selection, stored: Collection[str] = ()
    ) -> Iterator[File | Outcome]:
        return discover(
            paths,
            max_megabytes=self._reading.max_megabytes,
            exclude=self._exclude,
            stored=stored,
            selection=selection,
        )

    def _ingest(
        self, files: list[File | Outcome], deleted: list[str], known: dict[str, Fingerprint]
    ) -> Iterator[Outcome]:
        changed = []
        for file in files:
            location = self._locations.location_of(file.name if isinstance(file, Outcome) else file.path)
            document_id = file_document_id(location)
            stored = known.get(document_id)
            if isinstance(file, Outcome):
                is_ours = stored is not None and stored.location == location
                certain = file.reason == EMPTY
                yield self._ingestion.give_up(file, document_id, is_certain=certain) if is_ours else file
            elif stored and stored.is_certain and stored.describes(location, file.size, file.modified):
                yield Outcome(name=file.path, status="unchanged", document_id=document_id)
            else:
                changed.append(Task.from_file(file, location, stored))
        yield from self._ingestion.run(changed)
        ids = [file_document_id(self._locations.location_of(path)) for path in deleted]
        self.store.forget(ids)
        for path, document_id in zip(deleted, ids, strict=True):
            yield Outcome(name=path, status="removed", document_id=document_id)

    def _text_tasks(self, documents: Iterable[Document]) -> Iterator[Task]:
        known = {fingerprint.document_id for fingerprint in self.store.fingerprints()}
        for document in documents:
            if not isinstance(document, Document):
                raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(document).__name__}.")
            yield Task.from_document(document, document.id in known)
            known.add(document.id)

    def _report(self, outcomes: Iterator[Outcome], progress: Progress, total: int | None) -> IngestReport:
        started = time.monotonic()
        reported: list[Outcome] = []
        for outcome in outcomes:
            reported.append(outcome)
            progress(outcome, None if total is None else max(0, total - len(reported)))
        self.store.maintain()
        return IngestReport(outcomes=reported, seconds=time.monotonic() - started)


def forget(
    store: Store,
    name: str,
    locations: Locations,
    forget_elsewhere: Callable[[list[str]], None] = lambda ids: None,
    shared_lock: SharedLock | None = None,
) -> list[KnownDocument]:
    """Forget the document with this id, path or location, and return it. Needs no embedder.

    `forget_elsewhere` is called with the ids before, since after a crash the ids could not be looked up again, and
    after, for traces that appeared in between.
    """
    with _exclusive(store, shared_lock):
        location, documents = locations.location_of(os.path.abspath(os.path.expanduser(name))), store.documents()
        matches = [document for document in documents if document.id == name or document.location == location]
        matches = matches or [document for document in documents if document.location and document.location == name]
        if not matches:
            raise NotFoundError(f'There is no document "{presentable(name)}": run "veracity documents" to list them.')
        ids = [document.id for document in matches]
        forget_elsewhere(ids)
        store.forget(ids)
        forget_elsewhere(ids)
        store.maintain()
        return matches


def purge_forgotten(store: Store, shared_lock: SharedLock | None = None, *, only_if_cheap: bool = False) -> bool:
    """Remove documents from the disk that were forgotten a while ago. Returns whether there were any.

    With `only_if_cheap`, a large table is left as it is.
    """
    if not is_purge_due(store.location):
        return False
    with _exclusive(store, shared_lock):
        if only_if_cheap:
            store.maintain()
        elif is_purge_due(store.location):  # no other process was faster
            store.purge()
    return True


@contextmanager
def _exclusive(store: Store, shared_lock: SharedLock | None) -> Iterator[None]:
    """Exclude other writers, also those that were killed."""
    with writer_lock(store.location, shared_lock):
        store.fence()
        yield


@contextmanager
def writer_lock(place: Path | Location, shared_lock: SharedLock | None = None) -> Iterator[None]:
    """Raise BusyError at once if another process or thread holds the lock.

    A folder is locked by a file. A location that other machines share needs the lock that they share, too.
    """
    location = as_location(place)
    if isinstance(location, FolderLocation):
        with _folder_lock(location.folder):
            yield
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(require_shared_lock(shared_lock, location)(LOCK_NAME, 0))
        except TimeoutError:
            raise _busy(location, "another process") from None
        yield


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".writer.lock", timeout=0, thread_local=False)
    try:
        make_private_folder(folder)
        lock.acquire()
    except Timeout:
        raise _busy(folder, _lock_holder(folder)) from None
    except (OSError, NotImplementedError) as problem:  # some network drives do not support locks
        raise KnowledgeError(
            f'"{folder}" cannot be written ({reason_of(problem)}): make it a writable folder.'
        ) from None
    try:
        with contextlib.suppress(OSError):  # only used in the error message
            (folder / ".writer.pid").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _busy(place: Path | Location, holder: str) -> BusyError:
    return BusyError(f'The documents in "{place}" are being changed by {holder}: try again when that has finished.')


def _lock_holder(folder: Path) -> str:
    try:
        number = int((folder / ".writer.pid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return "another process"
    return "another thread of this process" if number == os.getpid() else f"process {number}"
