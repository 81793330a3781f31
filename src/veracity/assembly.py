"""Builds the parts of a workspace: each on first use, once, and closes them together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from veracity.errors import ConfigurationError
from veracity.llm import LLM
from veracity.settings import Settings, load_settings, with_pace
from veracity.settings.sections import is_local_model
from veracity.settings.toml import read_bytes
from veracity.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from veracity.embedding import Embedder
    from veracity.evaluator import Evaluator
    from veracity.experiments.calibrator import Calibrator
    from veracity.experiments.conditions import Conditions
    from veracity.experiments.statement import CalibratedSettings
    from veracity.graph.context import RunContext
    from veracity.knowledge.library import Library
    from veracity.knowledge.location import Location, SharedLock
    from veracity.knowledge.object_store import S3Location
    from veracity.knowledge.originals import Originals
    from veracity.knowledge.page_images import PageImages
    from veracity.knowledge.store import Store
    from veracity.knowledge.uploads import Uploads
    from veracity.ledger import Ledger, Observations
    from veracity.notify import Notifier
    from veracity.queues.evaluation_queue import EvaluationQueue
    from veracity.queues.ingestion_queue import IngestionQueue
    from veracity.reranking import Reranker
    from veracity.retrieval import Searcher
    from veracity.runs.runner import Runner
    from veracity.runs.suggestions import Suggester

T = TypeVar("T")


class _part(Generic[T]):
    """A property that builds its value on first use, under the assembly's lock. Raises if the assembly is closed."""

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self._name = build.__name__

    def __get__(self, assembly: Assembly, _owner: type | None = None) -> T:
        with assembly.lock:
            assembly.require_open()
            if self._name not in assembly.built:
                assembly.built[self._name] = self._build(assembly)
            part: T = assembly.built[self._name]
            return part


class Assembly:
    """Can be shared by threads. The parts import their libraries when they are built: not every command needs all."""

    def __init__(self, root: Path | str, *, settings: Settings | None = None, llm: LLM | None = None) -> None:
        self.workspace = Workspace(Path(root).expanduser())
        loaded = with_pace(settings) if settings else _load_settings(self.workspace)
        self._loaded_settings, self._calibrated = loaded, _follow_calibration(self.workspace, loaded)
        own = self.settings
        self.custom_llm = llm
        self.shares_llm = False
        self.llm = llm or LLM(own.llm, max_tokens=own.max_tokens, servers=own.servers)
        self.lock = threading.RLock()
        self.built: dict[str, Any] = {}
        self.explicit_settings = settings and self.settings
        self._is_closed = False

    @property
    def settings(self) -> Settings:
        """With the threshold at the last refresh, if that is calibrated."""
        return self._calibrated.settings if self._calibrated else self._loaded_settings

    def refresh_settings(self) -> Settings:
        """The settings with the calibrated threshold that is in force now."""
        return self._calibrated.refresh() if self._calibrated else self._loaded_settings

    def close(self) -> None:
        with self.lock:
            self._is_closed = True
            built = list(self.built.values())
            self.built.clear()
        own = () if self.shares_llm else (self.llm,)
        for part in (*reversed(built), *own):  # a part is built after the parts it uses
            if close := getattr(part, "close", None):
                close()

    def require_open(self) -> None:
        if self._is_closed:
            raise ConfigurationError("This engine is closed and cannot be used again: create a new one.")

    def require_workspace(self) -> None:
        """Raise `ConfigurationError` if the workspace is not a directory."""
        open_workspace(self.workspace.root)

    @property
    def has_ledger(self) -> bool:
        """False if nothing was ever recorded: the first run creates the ledger of a workspace."""
        return bool(self.settings.store.ledger) or self.workspace.ledger_folder.exists()

    @property
    def ledger(self) -> Ledger:
        self.require_workspace()
        return self._ledger

    @_part
    def _ledger(self) -> Ledger:
        from veracity.ledger import Ledger  # noqa: PLC0415 - imports SQLAlchemy

        ledger = Ledger(self.workspace.ledger_folder, self.settings.store.ledger)
        if self.settings.store.knowledge:
            ledger.journal.mirror = self._s3_location(self.settings.store.knowledge).put
        ledger.inbox.channels = self.settings.notify.channels
        return ledger

    @property
    def observations(self) -> Observations:
        from veracity.ledger import Observations  # noqa: PLC0415 - imports SQLAlchemy

        return Observations(self.workspace.observations_file)

    @_part
    def notifier(self) -> Notifier:
        from veracity.notify import Notifier  # noqa: PLC0415 - only needed with a `notify` setting

        return Notifier(self.settings.notify, self._ledger)

    @_part
    def runner(self) -> Runner:
        from veracity.runs.runner import Runner  # noqa: PLC0415 - imports LangGraph

        return Runner(self.context, self._ledger, self.workspace)

    @_part
    def context(self) -> RunContext:
        """The context that every run copies."""
        from veracity.runs.factory import make_context  # noqa: PLC0415 - imports LangGraph

        return make_context(
            self.workspace,
            self.settings,
            self.llm,
            self.library.store,
            self.embedder,
            self.searcher_for,
            self._ledger,
            self.evaluator,
            lambda: self.refresh_settings().approval,
        )

    @_part
    def evaluator(self) -> Evaluator:
        """Scores the answers of runs."""
        from veracity.evaluator import Evaluator  # noqa: PLC0415 - imports the metrics

        return Evaluator(
            self.workspace.root,
            llm=self.llm,
            settings=self.explicit_settings,
            keep_last_good=True,
            only_named_judges=True,
        )

    @property
    def conditions(self) -> Conditions:
        """What answers and scores depend on, as it is now."""
        from veracity.experiments.conditions import Conditions  # noqa: PLC0415 - only experiments need it

        return Conditions(self.workspace, self.settings, self.evaluator, self.documents)

    @property
    def calibrator(self) -> Calibrator:
        from veracity.experiments.calibrator import Calibrator  # noqa: PLC0415 - imports NumPy

        return Calibrator(self.conditions, self.ledger if self.has_ledger else None)

    @_part
    def embedder(self) -> Embedder:
        from veracity.embedding import make_embedder  # noqa: PLC0415 - imports NumPy

        own = self.settings
        return make_embedder(own.models.embedder, own.llm, own.servers, own.models.folder)

    @_part
    def library(self) -> Library:
        from veracity.knowledge.library import Library  # noqa: PLC0415 - imports LanceDB

        settings, files = self.settings, self.workspace
        own = (files.ledger_folder, files.metrics_folder, files.prompts_folder)
        folders = (*own, files.suites_folder, files.experiments_folder)
        excluded = (*folders, files.settings_file, files.evaluator_file, files.observations_file)
        return Library(
            self._knowledge_location,
            self.embedder,
            settings.knowledge,
            settings.reading,
            excluded,
            self.uploads.locations,
            self.shared_lock,
        )

    @property
    def documents(self) -> Store:
        """The stored documents, without an embedder: reading them needs no model and no key."""
        self.require_workspace()
        return self._documents

    @_part
    def _documents(self) -> Store:
        from veracity.knowledge.store import Store  # noqa: PLC0415 - imports LanceDB

        return Store(self._knowledge_location, 1, {})

    @_part
    def uploads(self) -> Uploads:
        from veracity.knowledge.staging import FolderStaging, ObjectStaging  # noqa: PLC0415 - only uploads need it
        from veracity.knowledge.upload_files import FolderFiles, ObjectFiles  # noqa: PLC0415 - only uploads need it
        from veracity.knowledge.uploads import Uploads  # noqa: PLC0415 - imports LanceDB

        folder, store, largest = self.workspace.uploads_folder, self.settings.store, self.settings.reading.max_megabytes
        if not store.uploads:
            return Uploads(FolderFiles(folder), largest, FolderStaging(folder) if store.ledger else None)
        location = self._s3_location(store.uploads)
        return Uploads(ObjectFiles(location, folder, self.shared_lock), largest, ObjectStaging(location, folder))

    @_part
    def originals(self) -> Originals:
        from veracity.knowledge.originals import Originals  # noqa: PLC0415 - imports LanceDB

        return Originals(self._documents, self.uploads)

    @_part
    def page_images(self) -> PageImages:
        from veracity.knowledge.page_images import PageImages  # noqa: PLC0415 - imports PDFium

        return PageImages(self._documents, self.originals, self.settings.reading)

    @_part
    def ingestion_queue(self) -> IngestionQueue:
        from veracity.queues.ingestion_queue import IngestionQueue  # noqa: PLC0415 - imports LanceDB

        return IngestionQueue(self._ledger.ingestions, self.uploads, lambda: self.library)

    @_part
    def evaluation_queue(self) -> EvaluationQueue:
        from veracity.queues.evaluation_queue import EvaluationQueue  # noqa: PLC0415 - imports SQLAlchemy

        return EvaluationQueue(self._ledger.evaluations, self.settings.evaluator.deadline)

    @property
    def shared_lock(self) -> SharedLock | None:
        """Excludes writers on other machines. None if there are none: they would need a ledger in Postgres."""
        if not self.settings.store.ledger:
            return None
        from veracity.ledger.shared_lock import PostgresLock  # noqa: PLC0415 - an extra

        return PostgresLock(self.settings.store.ledger)

    @_part
    def _knowledge_location(self) -> Location:
        from veracity.knowledge.location import FolderLocation  # noqa: PLC0415 - not every command needs it

        url = self.settings.store.knowledge
        return self._s3_location(url) if url else FolderLocation(self.workspace.knowledge_folder)

    def _s3_location(self, url: str) -> S3Location:
        from veracity.knowledge.object_store import S3Location  # noqa: PLC0415 - not every command needs it

        self.settings.store.require_shared_ledger()
        return S3Location(url, self.settings.store.s3_endpoint)

    @_part
    def searcher(self) -> Searcher:
        from veracity.retrieval import make_searcher  # noqa: PLC0415 - imports NumPy

        return make_searcher(self.library.store, self.embedder, self.settings.retrieval, self._reranker)

    def searcher_for(self, only: Sequence[str]) -> Searcher:
        """Searches the documents that match one of the paths and patterns; all documents if there are none."""
        return self.searcher.over(self.library.store.limited_to(only)) if only else self.searcher

    @_part
    def suggester(self) -> Suggester:
        from veracity.runs.factory import make_local_context  # noqa: PLC0415 - imports LangGraph
        from veracity.runs.suggestions import Suggester  # noqa: PLC0415 - imports LangGraph

        context = make_local_context(
            self.settings, self.llm, self.library.store, self._local_embedder, self._local_searcher_for
        )
        return Suggester(self.library.store, context)

    @property
    def _local_embedder(self) -> Embedder:
        """Of this machine: without it, passages are searched by their words."""
        from veracity.embedding import NoEmbedder  # noqa: PLC0415 - imports NumPy

        setting = self.settings.models.embedder
        return self.embedder if setting == "bundled" or is_local_model(setting) else NoEmbedder()

    @_part
    def _local_searcher(self) -> Searcher:
        from veracity.retrieval import make_searcher  # noqa: PLC0415 - imports NumPy

        setting = self.settings.reranker
        reranker = self._reranker if setting == "bundled" or is_local_model(setting) else None
        return make_searcher(self.library.store, self._local_embedder, self.settings.retrieval, reranker)

    def _local_searcher_for(self, only: Sequence[str]) -> Searcher:
        searcher = self._local_searcher
        return searcher.over(self.library.store.limited_to(only)) if only else searcher

    @_part
    def _reranker(self) -> Reranker | None:
        from veracity.reranking import make_reranker  # noqa: PLC0415 - imports NumPy

        return make_reranker(
            self.settings.reranker, self.settings.llm, self.settings.servers, self.settings.models.folder
        )


def _follow_calibration(workspace: Workspace, settings: Settings) -> CalibratedSettings | None:
    """For the threshold that `veracity calibrate` finds, if the settings ask for it."""
    if not settings.approval.calibrated:
        return None
    from veracity.experiments.statement import CalibratedSettings  # noqa: PLC0415 - rarely needed

    return CalibratedSettings(workspace, settings)


def _load_settings(workspace: Workspace) -> Settings:
    if workspace.root.exists():
        open_workspace(workspace.root)  # a clear error if it is a file
    return load_settings(read_bytes(workspace.settings_file), workspace.settings_file)
