"""The documents of a workspace: bringing them in, finding passages in them, removing them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from veracity.assembly import Assembly
from veracity.errors import InputError, NotFoundError
from veracity.inputs import (
    LONGEST_QUERY,
    MOST_RESULTS,
    listed,
    require_text,
)
from veracity.models import (
    Document,
    Evidence,
    IngestReport,
    KnownDocument,
    Outcome,
)
from veracity.providers.texts import encodable
from veracity.secrets import presentable

if TYPE_CHECKING:
    from veracity.knowledge.library import Progress
    from veracity.knowledge.store import Store
    from veracity.knowledge.uploads import Uploads

AT_ONCE = 5.0  # seconds that a removal waits for others who bring documents in

T = TypeVar("T")


def _checked(document_id: str) -> str:
    require_text(document_id, "A document")
    return encodable(document_id)


def _found(found: T | None, document_id: str) -> T:
    if found is None:
        raise NotFoundError(f'There is no document with the id "{presentable(document_id)}".')
    return found


def _ignore(outcome: Outcome, to_come: int | None) -> None:
    """For who does not watch."""


class Documents(Assembly):
    """A part of Veracity."""

    def ingest(
        self, paths: Path | str | Sequence[Path | str], *, prune: bool = False, progress: Progress = _ignore
    ) -> IngestReport:
        """Bring in files, folders or patterns. `progress` is told of every file as soon as its fate is certain."""
        named = [paths] if isinstance(paths, str | Path) else listed(paths, "paths")
        if wrong := next((one for one in named if not isinstance(one, str | Path)), None):
            raise InputError(f"A path is text or a pathlib.Path, not {type(wrong).__name__}.")
        return self._library.ingest(named, prune, progress)

    def add(self, documents: Document | Iterable[Document], *, progress: Progress = _ignore) -> IngestReport:
        """Bring in texts that are in memory already. One with a known id replaces what was there."""
        given = [documents] if isinstance(documents, Document) else documents
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(given).__name__}.")
        return self._library.add(given, progress)

    def upload(self, name: str, source: BinaryIO, *, progress: Progress = _ignore) -> IngestReport:
        """Bring in a file that is on no disk here, under any name: the workspace keeps it, in the place of one that had
        the same name. `forget` removes it again. Waits a while for others who change the documents."""
        require_text(name, "A file")
        if not hasattr(source, "read") or isinstance(source, TextIOBase):
            raise InputError(f"A file is uploaded from where its bytes can be read, not from {type(source).__name__}.")
        started = time.monotonic()
        outcome = self._uploads.bring_in(name, source, self._ingest_one)
        progress(outcome, 0)
        return IngestReport(outcomes=[outcome], seconds=time.monotonic() - started)

    def unfinished_uploads(self) -> list[str]:
        """The names of files that a process left which died while it brought them in."""
        return self._uploads.unfinished()

    def finish_upload(self, name: str) -> Outcome | None:
        """Bring in what was left, as `upload` would have. None where there is nothing left to do."""
        return self._uploads.finish(name, self._ingest_one)

    def search(self, query: str, top_k: int = 10, *, sources: str | Sequence[str] | None = None) -> list[Evidence]:
        """The passages that bear on the query, the best first. Without `sources`, from those of the settings."""
        if not isinstance(query, str) or not query.strip():
            raise InputError("The query is empty: say in words what to search for.")
        if not isinstance(top_k, int) or not 1 <= top_k <= MOST_RESULTS:
            raise InputError(f"A search gives between 1 and {MOST_RESULTS} passages, not {top_k}.")
        self._require_workspace()
        named = [sources] if isinstance(sources, str) else sources
        return self._searcher.search(query[:LONGEST_QUERY], top_k, named)

    def documents(self) -> list[KnownDocument]:
        return self._records().documents()

    def documents_version(self) -> tuple[int, int]:
        """Another one after every change of the documents, whoever made it; for who looks often."""
        return self._records().version

    def document(self, document_id: str) -> KnownDocument:
        return _found(self._records().document(_checked(document_id)), document_id)

    def text(self, document_id: str) -> str:
        """The whole text of a document, into which the offsets of its evidence point."""
        return _found(self._records().text(_checked(document_id)), document_id)

    def page_starts(self, document_id: str) -> list[int]:
        """Where each page begins in the text of a document; none where its source has no pages."""
        return self._records().page_starts(_checked(document_id))

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the document with this id or from this path, and its text from receipts and observations. A file that
        was uploaded goes too."""
        from veracity.knowledge.library import forget  # noqa: PLC0415 - loads LanceDB

        require_text(name, "A document")
        records, uploads = self._records(), self._uploads

        def also(document_ids: list[str]) -> None:
            self._forget_in_ledger(document_ids)
            uploads.remove(one.location for one in records.documents() if one.id in document_ids)

        with uploads.changing(AT_ONCE):
            return forget(records, self._workspace.knowledge_folder, name, uploads.places, also)

    def reindex(self, *, progress: Progress = _ignore) -> IngestReport:
        """Cut and embed all documents anew, as the settings are now. The files are not needed."""
        self._require_workspace()
        return self._library.reindex(progress)

    @property
    def _uploads(self) -> Uploads:
        from veracity.knowledge.uploads import Uploads  # noqa: PLC0415 - the ledger does not need it

        return Uploads(self._workspace.uploads_folder, self._settings.reading.max_megabytes)

    def _ingest_one(self, path: Path) -> Outcome:
        return self._library.ingest([path], False, _ignore).outcomes[0]

    def _forget_in_ledger(self, document_ids: list[str]) -> None:
        if self._workspace.ledger_folder.exists():
            from veracity.ledger import Observations  # noqa: PLC0415 - loads SQLAlchemy

            self._ledger.forget_documents(document_ids, Observations(self._workspace.observations_file))

    def _records(self) -> Store:
        """The documents for who neither embeds nor searches: no model is needed for that, and no key."""
        from veracity.knowledge.store import Store  # noqa: PLC0415 - loads LanceDB, which the ledger does not need

        self._require_workspace()
        self._require_open()
        return Store(self._workspace.knowledge_folder, 1, {})
