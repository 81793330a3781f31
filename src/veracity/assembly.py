"""The parts of a workspace, each made when it is first needed, once, and ended together.

Knows what each part is made of, and nothing about what is done with them.
"""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from veracity.errors import ConfigurationError
from veracity.llm import LLM
from veracity.settings import Settings, load_settings
from veracity.settings.toml import read_bytes
from veracity.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from veracity.embedding import Embedder
    from veracity.evaluator import Evaluator
    from veracity.knowledge.library import Library
    from veracity.ledger import Ledger
    from veracity.reranking import Reranker
    from veracity.retrieval import Searcher
    from veracity.runs.factory import Kit
    from veracity.runs.runner import Runs


class Assembly:
    """Can be shared by threads."""

    def __init__(
        self, workspace: Path | str = ".", *, settings: Settings | None = None, llm: LLM | None = None
    ) -> None:
        self._workspace = Workspace(Path(workspace).expanduser())
        self._settings = settings or _settings_of(self._workspace)
        self._given_settings = settings
        self._llm = llm or LLM(self._settings.llm)
        self._making = threading.RLock()
        self._is_closed = False

    @property
    def settings(self) -> Settings:
        return self._settings

    def close(self) -> None:
        with self._making:
            self._is_closed = True
            names = (
                "_made_runs",
                "_made_kit",
                "_made_ledger",
                "_made_library",
                "_made_searcher",
                "_reranker",
                "_embedder",
            )
            made = [*(self.__dict__.pop(name, None) for name in names), self._llm]
        for one in made:
            if close := getattr(one, "close", None):
                close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    @property
    def _runs(self) -> Runs:
        with self._making:
            self._require_open()
            return self._made_runs

    def _runs_there(self) -> Runs | None:
        """Nothing is made for it."""
        with self._making:
            return self.__dict__.get("_made_runs")

    @property
    def _kit(self) -> Kit:
        with self._making:
            self._require_open()
            return self._made_kit

    @property
    def _gate(self) -> Evaluator:
        """The one that scores the answers of the runs, also for who asks it directly."""
        with self._making:
            self._require_open()
            return self._made_gate

    @property
    def _ledger(self) -> Ledger:
        self._require_workspace()
        with self._making:
            self._require_open()
            return self._made_ledger

    # Under the lock, or two threads would make two of each.

    @cached_property
    def _made_ledger(self) -> Ledger:
        from veracity.ledger import Ledger  # noqa: PLC0415 - loads SQLAlchemy, which searching does not need

        return Ledger(self._workspace.ledger_folder)

    @cached_property
    def _made_runs(self) -> Runs:
        from veracity.runs.factory import make_runs  # noqa: PLC0415 - loads LangGraph

        return make_runs(self._made_kit, self._workspace, self._settings, self._made_ledger)

    @cached_property
    def _made_kit(self) -> Kit:
        from veracity.runs.factory import make_kit  # noqa: PLC0415 - loads LangGraph

        store, searcher, gate = self._library.store, self._searcher, self._gate
        parts = (self._workspace, self._settings, self._llm, store, self._embedder, searcher, self._made_ledger, gate)
        return make_kit(*parts)

    @cached_property
    def _made_gate(self) -> Evaluator:
        from veracity.evaluator import Evaluator  # noqa: PLC0415 - not needed for searching

        return Evaluator(
            self._workspace.root,
            llm=self._llm,
            settings=self._given_settings,
            keep_last_good=True,
            only_named_judges=True,
        )

    @cached_property
    def _embedder(self) -> Embedder:
        from veracity.embedding import make_embedder  # noqa: PLC0415 - loads NumPy, which the ledger does not need

        return make_embedder(self._settings.models.embedder, self._settings.llm)

    @cached_property
    def _made_library(self) -> Library:
        from veracity.knowledge.library import Library  # noqa: PLC0415 - loads LanceDB

        settings, own = self._settings, self._workspace
        folders = (own.ledger_folder, own.metrics_folder, own.prompts_folder)
        leave_out = (*folders, own.settings_file, own.evaluator_file, own.observations_file)
        return Library(
            own.knowledge_folder, self._embedder, settings.knowledge, settings.reading, leave_out, own.uploads_folder
        )

    @cached_property
    def _made_searcher(self) -> Searcher:
        from veracity.retrieval import make_searcher  # noqa: PLC0415 - loads NumPy

        return make_searcher(self._library.store, self._embedder, self._settings.retrieval, self._reranker)

    @cached_property
    def _reranker(self) -> Reranker | None:
        from veracity.reranking import make_reranker  # noqa: PLC0415 - loads NumPy

        return make_reranker(self._settings.retrieval.reranker, self._settings.llm)


def _settings_of(workspace: Workspace) -> Settings:
    if workspace.root.exists():
        open_workspace(workspace.root)  # or a file would be told as settings that cannot be read
    path = workspace.settings_file
    return load_settings(read_bytes(path), path)
