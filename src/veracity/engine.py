"""The engine: owns a workspace: its documents, searching them, and answering questions about them.

Puts the parts together, and knows how none of them works.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from veracity.embedding import Embedder, make_embedder
from veracity.errors import ConfigurationError, InputError
from veracity.knowledge.library import Library, Progress, forget
from veracity.knowledge.store import Store
from veracity.llm import LLM
from veracity.models import (
    Answer,
    Approval,
    ConversationSummary,
    Document,
    Evidence,
    IngestReport,
    KnownDocument,
    Outcome,
    PastTurn,
    Receipt,
    RunEvent,
    RunSummary,
    Verdict,
)
from veracity.providers.texts import encodable
from veracity.reranking import Reranker, make_reranker
from veracity.retrieval import Searcher, make_searcher
from veracity.secrets import presentable
from veracity.settings import Settings, load_settings
from veracity.tomlfile import read_bytes
from veracity.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from veracity.ledger import Ledger
    from veracity.runs.running import Runs

MOST_RESULTS = 1000
MOST_RUNS = 100_000
LONGEST_QUERY = 10_000  # characters; what comes after them is not read
LONGEST_EDIT = 20_000


def _ignore(outcome: Outcome, to_come: int | None) -> None:
    """For who does not watch."""


class Veracity:
    """A workspace. Can be shared by threads. `close` it, or use it in a `with`, to end its processes at once; it cannot
    be used after that.

    A folder that is not there is created when something is brought in.
    """

    def __init__(
        self, workspace: Path | str = ".", *, settings: Settings | None = None, llm: LLM | None = None
    ) -> None:
        self._workspace = Workspace(Path(workspace).expanduser())
        self._settings = settings or _settings_of(self._workspace)
        self._given_settings = settings
        self._llm = llm or LLM(self._settings.llm)
        self._making = threading.RLock()
        self._is_closed = False
        self._has_recovered = False

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

    def ask(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = "local",
        max_rewrites: int | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """An answer from the documents, every sentence cited and checked, or an abstention that says what is missing.

        Questions of one `conversation` follow on one another. An answer that scores low has the status
        "awaiting_approval": see `approvals` and `decide`. `deadline` is in seconds. Without it and `max_rewrites`,
        those of the settings.
        """
        options = {"conversation": conversation, "user": user, "max_rewrites": max_rewrites, "deadline": deadline}
        return _answer_of(self.stream(question, **options))  # type: ignore[arg-type]

    def stream(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = "local",
        max_rewrites: int | None = None,
        deadline: float | None = None,
    ) -> Iterator[RunEvent]:
        """The same, telling of each step when it begins and when it ends. The last event holds the answer."""
        settings = self._settings
        rewrites = settings.quality.max_rewrites if max_rewrites is None else max_rewrites
        seconds = settings.answering.run_deadline if deadline is None else deadline
        asked = _checked_question(question)
        if not isinstance(rewrites, int) or not 0 <= rewrites <= 20:
            raise InputError(f"A query is rewritten between 0 and 20 times, not {rewrites}.")
        if not isinstance(seconds, int | float) or not 0 < seconds <= 86400:
            raise InputError(f"A run may take more than 0 and at most 86400 seconds, not {seconds}.")
        _require_text(user, "A user")
        _require_text(conversation, "A conversation")
        self._require_workspace()
        if not self._library.store.languages():
            raise InputError("The workspace holds no documents yet: bring some in with veracity ingest PATH.")
        self._recover_once()
        return self._runs.stream(asked, encodable(user), rewrites, seconds, encodable(conversation))

    def approvals(self, *, user: str | None = None, limit: int = 100) -> list[Approval]:
        """The drafts that wait for a person, the longest waiting first. `user` is who asked."""
        self._recover_once()
        return self._ledger.approvals(limit, user)

    def approval(self, name: str) -> Approval:
        """By its id, the beginning of it, its run's id, or "last": the newest that waits."""
        _require_text(name, "An approval")
        return self._ledger.approval(encodable(name))

    def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = "local",
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Approve a draft, as it is or with `edit` in its place, or reject it: then the web is searched, once.

        The first decision counts, any other raises `DecidedError`; the same one again under the same `key` gives the
        same answer. With `draft_hash`, only the draft that was seen is decided on.
        """
        options = {"reason": reason, "edit": edit, "by": by, "draft_hash": draft_hash, "key": key}
        return _answer_of(self.stream_decision(approval_id, verdict, **options))  # type: ignore[arg-type]

    def stream_decision(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = "local",
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Iterator[RunEvent]:
        """The same, telling of the steps that follow. The decision counts when this returns."""
        if verdict not in ("approve", "reject"):
            raise InputError(
                f'A draft is decided on with "approve" or "reject", not with "{presentable(str(verdict))}".'
            )
        for text, what in ((approval_id, "An approval"), (reason, "A reason"), (by, "Whoever decides")):
            _require_text(text, what)
        if edit is not None:
            edit = _checked_edit(edit, verdict)
        runs = self._runs  # what is needed to go on must be there before anything is decided
        decided = self._ledger.decide(
            encodable(approval_id),
            verdict,
            by=encodable(by),
            reason=encodable(reason),
            edit=edit,
            draft_hash=draft_hash,
            key=key,
        )
        return runs.carry_out(decided)

    def recover(self) -> list[Answer]:
        """Take up what a process left that died, and what was decided and not carried out. Happens by itself before the
        first question, and before approvals are listed."""
        self._has_recovered = True
        return self._runs.recover() if self._ledger.interrupted() else []

    def conversations(self, *, user: str = "local", limit: int = 20) -> list[ConversationSummary]:
        """Those of this user, the latest first."""
        return self._ledger.conversations(user, limit)

    def turns(self, conversation: str, *, user: str = "local", limit: int = 50) -> list[PastTurn]:
        """What was asked and answered in a conversation, the latest last."""
        return self._ledger.turns(user, conversation, limit)

    def forget_conversation(self, conversation: str, *, user: str = "local") -> int:
        """Remove its questions and answers from ledger, receipts and observations. How many turns it had."""
        from veracity.ledger import Observations  # noqa: PLC0415 - loads SQLAlchemy
        from veracity.runs.checkpoints import scrub_checkpoints  # noqa: PLC0415 - loads LangGraph

        turns = self._ledger.forget_conversation(user, conversation, Observations(self._workspace.observations_file))
        scrub_checkpoints(self._workspace.ledger_folder, self._ledger.waiting())
        return turns

    def runs(self, limit: int = 20, *, user: str | None = None) -> list[RunSummary]:
        """What was asked, the latest first."""
        if not isinstance(limit, int) or not 1 <= limit <= MOST_RUNS:
            raise InputError(f"Between 1 and {MOST_RUNS:,} runs are listed, not {limit}.")
        return self._ledger.runs(limit, user)

    def receipt(self, run: str) -> Receipt:
        """All that is known of a run: by its id, the beginning of it, or "last"."""
        from veracity.runs.receipts import receipt  # noqa: PLC0415 - loads SQLAlchemy

        _require_text(run, "A run")
        return receipt(self._ledger, self._ledger.find(encodable(run)))

    def documents(self) -> list[KnownDocument]:
        return self._records().documents()

    def text(self, document_id: str) -> str:
        """The whole text of a document, into which the offsets of its evidence point."""
        text = self._records().text(encodable(document_id))
        if text is None:
            raise InputError(f'There is no document with the id "{presentable(document_id)}".')
        return text

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the document with this id or from this path, and its text from receipts and observations."""
        return forget(self._records(), self._workspace.knowledge_folder, name, self._forget_in_ledger)

    def reindex(self, *, progress: Progress = _ignore) -> IngestReport:
        """Cut and embed all documents anew, as the settings are now. The files are not needed."""
        self._require_workspace()
        return self._library.reindex(progress)

    def close(self) -> None:
        with self._making:
            self._is_closed = True
            names = ("_made_runs", "_made_ledger", "_made_library", "_made_searcher", "_reranker", "_embedder")
            made = [*(self.__dict__.pop(name, None) for name in names), self._llm]
        for one in made:
            if close := getattr(one, "close", None):
                close()

    def __enter__(self) -> Veracity:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget_in_ledger(self, document_ids: list[str]) -> None:
        if self._workspace.ledger_folder.exists():
            from veracity.ledger import Observations  # noqa: PLC0415 - loads SQLAlchemy
            from veracity.runs.checkpoints import scrub_checkpoints  # noqa: PLC0415 - loads LangGraph

            observations = Observations(self._workspace.observations_file)
            self._ledger.forget_documents(document_ids, observations)
            scrub_checkpoints(self._workspace.ledger_folder, self._ledger.waiting())

    def _recover_once(self) -> None:
        if not self._has_recovered:
            self.recover()

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

    @property
    def _runs(self) -> Runs:
        with self._making:
            self._require_open()
            return self._made_runs

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
        from veracity.evaluator import Evaluator  # noqa: PLC0415 - not needed for searching
        from veracity.runs.assembling import make_runs  # noqa: PLC0415 - loads LangGraph

        store, searcher = self._library.store, self._searcher
        gate = Evaluator(
            self._workspace.root,
            llm=self._llm,
            settings=self._given_settings,
            keep_last_good=True,
            only_named_judges=True,
        )
        parts = (self._workspace, self._settings, self._llm, store, self._embedder, searcher, self._made_ledger, gate)
        return make_runs(*parts)

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


def _require_text(name: str, what: str) -> None:
    if not isinstance(name, str):
        raise InputError(f"{what} is named by text, not by {type(name).__name__}.")


def _answer_of(events: Iterable[RunEvent]) -> Answer:
    *_, last = events
    if last.answer is None:
        raise AssertionError("a run ends with an answer or an error")
    return last.answer


def _checked_edit(edit: str, verdict: str) -> str:
    if verdict != "approve":
        raise InputError("Only a draft that is approved can be edited: reject it without an edit.")
    if not isinstance(edit, str) or not edit.strip():
        raise InputError("The edited answer is empty: write what is to go out.")
    if len(edit) > LONGEST_EDIT:
        raise InputError(f"The edited answer has {len(edit):,} characters: at most {LONGEST_EDIT:,} are taken.")
    return encodable(edit.strip())


def _checked_question(question: str) -> str:
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty: ask it in words.")
    if not any(map(str.isalnum, question)):
        raise InputError("The question holds no word: ask it in words.")
    if len(question) > LONGEST_QUERY:
        raise InputError(f"The question has {len(question):,} characters: ask it in at most {LONGEST_QUERY:,}.")
    return encodable(question.strip())


def _settings_of(workspace: Workspace) -> Settings:
    if workspace.root.exists():
        open_workspace(workspace.root)  # or a file would be told as settings that cannot be read
    path = workspace.settings_file
    return load_settings(read_bytes(path), path)
