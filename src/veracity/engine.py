"""The engine: owns a workspace. Today: its documents, and searching them.

Puts the parts together, and knows how none of them works.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from veracity.embedding import Embedder, make_embedder
from veracity.errors import ConfigurationError, InputError
from veracity.knowledge.library import Library, Progress, forget
from veracity.knowledge.store import Store
from veracity.models import Document, Evidence, IngestReport, KnownDocument, Outcome
from veracity.providers.texts import encodable
from veracity.reranking import Reranker, make_reranker
from veracity.retrieval import Searcher, make_searcher
from veracity.secrets import presentable
from veracity.settings import Settings, load_settings
from veracity.tomlfile import read_bytes
from veracity.workspace import Workspace, open_workspace

MOST_RESULTS = 1000
LONGEST_QUERY = 10_000  # characters; what comes after them is not read


def _ignore(outcome: Outcome, to_come: int | None) -> None:
    """For who does not watch."""


class Veracity:
    """A workspace. Can be shared by threads. `close` it, or use it in a `with`, to end its processes at once; it cannot
    be used after that.

    A folder that is not there is created when something is brought in.
    """

    def __init__(self, workspace: Path | str = ".", *, settings: Settings | None = None) -> None:
        self._workspace = Workspace(Path(workspace).expanduser())
        self._settings = settings or _settings_of(self._workspace)
        self._making = threading.RLock()
        self._is_closed = False

    def ingest(
        self, paths: Path | str | Sequence[Path | str], *, prune: bool = False, progress: Progress = _ignore
    ) -> IngestReport:
        """Bring in files, folders or patterns. `progress` is told of every file as soon as its fate is certain."""
        named = [paths] if isinstance(paths, str | Path) else _listed(paths, "paths")
        if wrong := next((one for one in named if not isinstance(one, str | Path)), None):
            raise InputError(f"A path is text or a pathlib.Path, not {type(wrong).__name__}.")
        return self._library.ingest(named, prune, progress)

    def add(self, documents: Document | Iterable[Document], *, progress: Progress = _ignore) -> IngestReport:
        """Bring in texts that are in memory already. One with a known id replaces what was there."""
        given = [documents] if isinstance(documents, Document) else documents
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(given).__name__}.")
        return self._library.add(given, progress)

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

    def text(self, document_id: str) -> str:
        """The whole text of a document, into which the offsets of its evidence point."""
        text = self._records().text(encodable(document_id))
        if text is None:
            raise InputError(f'There is no document with the id "{presentable(document_id)}".')
        return text

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the document with this id or from this path."""
        return forget(self._records(), self._workspace.knowledge_folder, name)

    def reindex(self, *, progress: Progress = _ignore) -> IngestReport:
        """Cut and embed all documents anew, as the settings are now. The files are not needed."""
        self._require_workspace()
        return self._library.reindex(progress)

    def close(self) -> None:
        with self._making:
            self._is_closed = True
            names = ("_made_library", "_made_searcher", "_reranker", "_embedder")
            made = [self.__dict__.pop(name, None) for name in names]
        for one in made:
            if close := getattr(one, "close", None):
                close()

    def __enter__(self) -> Veracity:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _records(self) -> Store:
        """The documents for who neither embeds nor searches: no model is needed for that, and no key."""
        self._require_workspace()
        self._require_open()
        return Store(self._workspace.knowledge_folder, 1, {})

    def _require_workspace(self) -> None:
        open_workspace(self._workspace.root)

    def _require_open(self) -> None:
        if self._is_closed:
            raise ConfigurationError("This engine was closed and cannot be used again: make a new one.")

    @property
    def _library(self) -> Library:
        with self._making:
            self._require_open()
            return self._made_library

    @property
    def _searcher(self) -> Searcher:
        with self._making:
            self._require_open()
            return self._made_searcher

    # Under the lock, or two threads would make two of each.

    @cached_property
    def _embedder(self) -> Embedder:
        return make_embedder(self._settings.models.embedder, self._settings.llm)

    @cached_property
    def _made_library(self) -> Library:
        settings, own = self._settings, self._workspace
        leave_out = (own.settings_file, own.evaluator_file, own.metrics_folder)
        return Library(own.knowledge_folder, self._embedder, settings.knowledge, settings.reading, leave_out)

    @cached_property
    def _made_searcher(self) -> Searcher:
        return make_searcher(self._library.store, self._embedder, self._settings.retrieval, self._reranker)

    @cached_property
    def _reranker(self) -> Reranker | None:
        return make_reranker(self._settings.retrieval.reranker, self._settings.llm)


def _listed(given: Iterable[Path | str], what: str) -> list[Path | str]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"The {what} are given as text or as a list of it, not as {type(given).__name__}.") from None


def _settings_of(workspace: Workspace) -> Settings:
    if workspace.root.exists():
        open_workspace(workspace.root)  # or a file would be told as settings that cannot be read
    path = workspace.settings_file
    return load_settings(read_bytes(path), path)
