"""The engine: a workspace, its documents, the questions asked about them, and their answers."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self, TypeVar

from veracity.agents.links import make_inert
from veracity.assembly import Assembly
from veracity.deadlines import NEVER, Stop
from veracity.errors import InputError, KnowledgeError, LedgerError, NotFoundError
from veracity.inbox import MAX_HOLD_SECONDS, Inbox
from veracity.knowledge.document_filter import MAX_PATTERN_LENGTH, MAX_PATTERNS, check_patterns
from veracity.knowledge.file_names import safe_file_name
from veracity.knowledge.location import FolderLocation
from veracity.knowledge.purge import is_purge_due
from veracity.llm import LLM
from veracity.models import (
    LOCAL,
    AnnouncedFile,
    Answer,
    Approval,
    ApprovalStanding,
    ConversationSummary,
    Difference,
    Document,
    DocumentPage,
    EvaluationRequest,
    EvaluationResult,
    Evidence,
    ExampleQuestion,
    Feedback,
    IngestReport,
    KnownDocument,
    LedgerChange,
    Member,
    Outcome,
    PastTurn,
    Pruned,
    Receipt,
    RunEvent,
    RunParameters,
    RunProgress,
    RunStanding,
    RunStatus,
    RunSummary,
    Thumb,
    Traffic,
    Transcript,
    UploadList,
    Verdict,
)
from veracity.models.people import experiment_user, is_experiment
from veracity.printable import encodable, visible
from veracity.secrets import presentable
from veracity.settings import Settings, with_overrides
from veracity.workspace import (
    create_workspace,
    find_workspace,
    hash_configuration,
    remove_reports,
    require_existing_workspace,
    require_space,
    require_workspace,
)

if TYPE_CHECKING:
    from veracity.evaluator.evaluator import EvaluatorDescription
    from veracity.experiments.calibrator import Calibrator
    from veracity.experiments.conditions import Conditions
    from veracity.experiments.decisions import CalibrationReport
    from veracity.experiments.running import Progress as ExperimentProgress
    from veracity.experiments.summary import Summary as ExperimentSummary
    from veracity.knowledge.library import Progress
    from veracity.knowledge.originals import Original
    from veracity.knowledge.store import Store
    from veracity.knowledge.uploads import Uploads
    from veracity.ledger import Observations, Users
    from veracity.ledger.notifications import ChangeListener
    from veracity.ledger.rows.upload_lists import UploadLists
    from veracity.models.calibration import Statement
    from veracity.queues.evaluation_queue import EvaluationQueue
    from veracity.queues.ingestion_queue import IngestionQueue

__all__ = [
    "MAX_HOLD_SECONDS",
    "MAX_PATTERNS",
    "MAX_PATTERN_LENGTH",
    "Stop",
    "Veracity",
    "create_workspace",
    "find_workspace",
    "make_inert",
    "require_existing_workspace",
    "require_workspace",
    "safe_file_name",
]

MAX_QUERY_LENGTH = 10_000  # characters; a longer search query is cut
MAX_EDIT_LENGTH = 20_000  # characters
MAX_REWRITES = 20
MAX_DEADLINE_SECONDS = 86_400
MAX_RESULTS = 1000
UPLOAD_OVERHEAD_BYTES = 2048  # of a request besides its one file
MAX_LISTED = 100_000
MAX_TURNS = 1_000_000
FORGET_TIMEOUT_SECONDS = 5.0  # how long `forget` waits for an ingest
RUN_ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # without characters that look alike

T = TypeVar("T")


def _ignore(outcome: Outcome, remaining: int | None) -> None:
    """No-op progress callback."""


class Veracity:
    """A workspace. Can be shared by threads.

    Use it in a `with` statement, or `close` it, to stop its threads and processes. A missing folder is created on the
    first write.
    """

    def __init__(
        self, workspace: Path | str = ".", *, settings: Settings | None = None, llm: LLM | None = None
    ) -> None:
        self._parts = Assembly(workspace, settings=settings, llm=llm)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._parts.close()

    @property
    def settings(self) -> Settings:
        return self._parts.settings

    # Questions

    def ask(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
        only: str | Sequence[str] = (),
    ) -> Answer:
        """Answer a question from the documents, with every sentence cited and checked, or abstain and say why.

        A question continues its `conversation`. An answer with a low score has the status "awaiting_approval": see
        `approvals` and `decide`. `deadline` is in seconds; it and `max_rewrites` default to the settings. With `only`,
        the evidence comes from documents that match one of these paths and patterns.
        """
        events = self.stream(
            question, conversation=conversation, user=user, max_rewrites=max_rewrites, deadline=deadline, only=only
        )
        return _last_answer(events)

    def stream(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
        only: str | Sequence[str] = (),
        drafts: bool = False,
    ) -> Iterator[RunEvent]:
        """Like `ask`, but yield an event when a step starts and ends. The last event holds the answer.

        With `drafts`, also yield pieces of drafts while they are written.
        """
        run = self._run_parameters(question, conversation, user, max_rewrites, deadline, only)
        return self._parts.runner.stream(run, drafts=drafts)

    def begin(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
        only: str | Sequence[str] = (),
        key: str = "",
        queued: bool = False,
        experiment: str = "",
    ) -> str:
        """Store a run without starting it, and return its id. `resume` runs it; a `queued` run is left to a worker.

        A user can use a `key` once: see `asked`. The case of an `experiment` has no user: nobody is asked to approve
        it, and nothing is learned from it.
        """
        run = self._run_parameters(question, conversation, user, max_rewrites, deadline, only)
        if experiment:
            run = run.model_copy(update={"user": experiment_user(experiment)})
        _require_text(key, "The key")
        return self._parts.runner.begin(run, encodable(key), queued=queued)

    def asked(self, *, user: str = LOCAL, key: str) -> RunSummary | None:
        """The run that this user began with this key, so that a retried request does not ask again."""
        _require_text(key, "The key")
        return self._parts.ledger.run_by_key(user, encodable(key))

    def runs_asking(self, question: str, *, user: str = LOCAL, limit: int = 20) -> list[RunSummary]:
        """The user's runs with exactly this question, newest first."""
        _require_text(question, "The question")
        _require_limit(limit, MAX_LISTED, "runs")
        return self._parts.ledger.runs_with_question(user, encodable(question.strip()), limit)

    def resume(self, run_id: str, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Continue a run that was begun, decided or interrupted. Yields nothing while another process runs it."""
        return self._parts.runner.resume(self._find_run(run_id), drafts=drafts)

    def stop(self, run_id: str, *, by: str = LOCAL) -> RunSummary:
        """Fail a running run: what it waits for ends, such as a model's reply.

        A run that has ended, waits for approval or was decided is not changed.
        """
        _require_text(by, "The user")
        run = self._parts.ledger.stop(self._find_run(run_id), by)
        if run.status == "failed" and (runner := self._parts.built.get("runner")):
            runner.discard(run.run_id)
        return run

    def leave(self) -> None:
        """Prepare for shutdown: running runs stop, without waiting for a model, and can be resumed."""
        if runner := self._parts.built.get("runner"):
            runner.stop_all()

    def interrupted(self) -> list[str]:
        """The runs whose process died, and the decided runs that nothing has resumed yet."""
        return self._parts.ledger.interrupted()

    def queue_interrupted(self) -> int:
        """Leave all `interrupted` runs to workers. Returns their number."""
        return self._parts.ledger.queue_interrupted()

    def join(self, kind: Literal["server", "worker"]) -> None:
        """Register this process among the servers and workers that share the ledger."""
        self._parts.ledger.join(kind, self.configuration)

    def register(self) -> None:
        """Let other processes of this machine know that this one uses the workspace, until it is closed."""
        self._parts.ledger.register()

    def members(self) -> list[Member]:
        """The live servers and workers, oldest first."""
        return self._parts.ledger.members()

    def other_leader(self) -> Member | None:
        """The oldest server or worker, if its configuration differs. Then this process takes no jobs."""
        return self._parts.ledger.other_leader()

    def listen(self, on_change: Callable[[LedgerChange], None]) -> ChangeListener | None:
        """Calls `on_change`, on another thread, when any process has changed a run, a draft or the documents. None if
        the ledger is a file: then callers must poll."""
        return self._parts.ledger.listen(on_change)

    @property
    def configuration(self) -> str:
        """A hash of the settings, metrics, prompts and version: processes with the same one give the same answers."""
        return hash_configuration(self._parts.workspace, self.settings)

    def nth_newest_ask(self, user: str, number: int) -> datetime | None:
        """When the user asked the last question but `number` - 1."""
        return self._parts.ledger.nth_newest_start(user, number)

    def exchange_traffic(self, requests: Mapping[str, int], streams: Mapping[str, int]) -> Traffic:
        """Report the requests since the last call and the open streams of this server, by user. Returns those of all
        servers that share the ledger."""
        return self._parts.ledger.traffic.exchange(requests, streams, self.settings.server.requests_per_minute)

    def queued(self, user: str | None = None) -> int:
        """The questions that wait for a worker."""
        return self._parts.ledger.waiting_count(user)

    def recover(self) -> list[Answer]:
        """Resume all `interrupted` runs. Call it when a program starts.

        Also ends drafts that have expired, sends announcements that are due, and removes documents from the disk that
        were forgotten a while ago, if that takes little time.
        """
        if is_purge_due(FolderLocation(self._parts.workspace.knowledge_folder)):
            with contextlib.suppress(KnowledgeError):  # the next change of the documents tries again
                self.purge_forgotten(only_if_cheap=True)
        self.inbox.expire()
        answers = self._parts.runner.recover() if self.interrupted() else []
        if self._parts.has_ledger:
            with contextlib.suppress(LedgerError):  # the next answer delivers them
                self._parts.ledger.deliver(self._observations())
        self.inbox.send_notifications()
        return answers

    def prepare(self) -> None:
        """Load what questions need, so that the first one does not wait. Calls no provider."""
        _ = self._parts.runner

    def examples(self) -> list[ExampleQuestion]:
        """Questions that the documents are known to answer, each from another document. A server finds them in the
        background, see `find_examples`; those of documents that were removed or changed since are left out."""
        store = self._store()
        found = self._parts.ledger.examples.list_all()
        return [example for example in found if store.text_hash(example.document_id) == example.content]

    def find_examples(self, stop: Stop = NEVER, *, duty: float = 1.0) -> bool:
        """Find `examples` if the documents or settings have changed since, and no other process does. Calls no model
        and stores no run. False if there was nothing to do.

        `duty` is the share of the time that it works. `stop` ends it from another thread: it raises `Stopped`.
        """
        store, ledger = self._store(), self._parts.ledger
        documents = f"{store.content_hash()} {self.configuration}" if store.languages() else ""
        if not documents or not ledger.examples.claim(documents):
            return False
        try:
            found = list(self._parts.suggester.find_examples(lambda seconds: stop.sleep(seconds * (1 / duty - 1))))
            ledger.examples.replace(documents, found)
        except BaseException:
            with contextlib.suppress(LedgerError):
                ledger.examples.release(documents)
            raise
        return True

    def follow_ups(self, run: str) -> list[str]:
        """Up to three questions that the documents next to those cited by an answer are known to answer.

        Takes some seconds at most. Calls no model and stores nothing.
        """
        run_id = self._find_run(run)
        answer = self._parts.ledger.answer(run_id)
        if answer is None or answer.status != "answered" or not answer.sentences:
            return []
        return self._parts.suggester.find_follow_ups(answer, self._parts.ledger.parameters(run_id).only)

    def progress(self, run_id: str) -> RunProgress:
        """The steps of a run so far and its answer, whichever process runs it."""
        return self._parts.runner.progress(self._find_run(run_id))

    def standing(self, run_id: str) -> RunStanding:
        """The state of the run with this id. Cheaper than `progress`, for polling."""
        _require_text(run_id, "The run id")
        if standing := self._parts.ledger.run_state(encodable(run_id)):
            return standing
        raise NotFoundError(f'There is no run "{presentable(run_id)}".')

    # Documents

    def ingest(
        self,
        paths: Path | str | Sequence[Path | str],
        *,
        include: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        prune: bool = False,
        progress: Progress = _ignore,
    ) -> IngestReport:
        """Index files, folders or glob patterns. `progress` is called with the outcome of every file.

        `include` and `exclude` are patterns in the syntax of .gitignore: of the files found, those that match one of
        `include` and none of `exclude` are read. `left_out` of the report counts the others.
        """
        from veracity.knowledge.selection import Selection  # noqa: PLC0415 - imports pathspec

        listed = [paths] if isinstance(paths, str | Path) else _as_list(paths, "paths")
        for path in listed:
            if not isinstance(path, str | Path):
                raise InputError(f"A path must be a string or a pathlib.Path, not {type(path).__name__}.")
        selection = Selection(_as_texts(include, "patterns to include"), _as_texts(exclude, "patterns to exclude"))
        return self._parts.library.ingest(listed, prune, progress, selection)

    def add(self, documents: Document | Iterable[Document], *, progress: Progress = _ignore) -> IngestReport:
        """Index texts from memory. A document with a known id replaces the old one."""
        listed = [documents] if isinstance(documents, Document) else documents
        if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
            raise InputError(f"Documents are added as Document(id=…, text=…), not as {type(listed).__name__}.")
        return self._parts.library.add(listed, progress)

    def upload(self, name: str, source: BinaryIO, *, progress: Progress = _ignore) -> IngestReport:
        """Store and index a file. It replaces an uploaded file with the same name; `forget` removes it."""
        _require_text(name, "The file name")
        if not hasattr(source, "read") or isinstance(source, TextIOBase):
            raise InputError(f"An upload needs a binary file to read from, not {type(source).__name__}.")
        started = time.monotonic()
        outcome = self._uploads.add(name, source, self._ingest_file)
        progress(outcome, 0)
        return IngestReport(outcomes=[outcome], seconds=time.monotonic() - started)

    @property
    def ingestion_queue(self) -> IngestionQueue:
        """Uploads that workers ingest. Needs a ledger in Postgres."""
        return self._parts.ingestion_queue

    def unfinished_uploads(self) -> list[str]:
        """The names of uploaded files whose process died before they were indexed."""
        return self._uploads.unfinished()

    def finish_upload(self, name: str) -> Outcome | None:
        """Index an unfinished upload. None if there is nothing left to do."""
        outcome = self._uploads.finish(name, self._ingest_file)
        if outcome is not None:
            self.upload_lists.settle_document(self._uploads.document_id(name), outcome)
        return outcome

    def announce_upload(self, files: Iterable[tuple[str, int]], user: str = LOCAL, to: str = "") -> UploadList:
        """List files, by name and size, that the user is going to upload: in the list with the id `to`, or in a new
        one, which replaces the user's last."""
        limit = self.settings.server.upload_megabytes
        too_large = f"it is larger than {limit} MB, the limit of this server"
        announced = [
            AnnouncedFile(
                name=visible(name),
                size=size,
                document_id=self._uploads.document_id(name),
                reason=too_large if size + UPLOAD_OVERHEAD_BYTES > limit * 1024 * 1024 else "",
            )
            for name, size in files
        ]
        return self.upload_lists.announce(user, announced, to)

    @property
    def upload_lists(self) -> UploadLists:
        """The last upload of each user: its files, and what became of them."""
        return self._parts.ledger.upload_lists

    def search(
        self,
        query: str,
        top_k: int = 10,
        *,
        sources: str | Sequence[str] | None = None,
        only: str | Sequence[str] = (),
    ) -> list[Evidence]:
        """The passages that match the query, best first. `sources` default to the settings.

        With `only`, the passages come from documents that match one of these paths and patterns.
        """
        if not isinstance(query, str) or not query.strip():
            raise InputError("The query is empty: enter words to search for.")
        if not isinstance(top_k, int) or not 1 <= top_k <= MAX_RESULTS:
            raise InputError(f"A search returns between 1 and {MAX_RESULTS} passages, not {top_k}.")
        self._parts.require_workspace()
        names = [sources] if isinstance(sources, str) else sources
        searcher = self._parts.searcher_for(self._check_only(only))
        return searcher.search(query[:MAX_QUERY_LENGTH], top_k, names)

    @staticmethod
    def matching_words(text: str, query: str) -> list[tuple[int, int]]:
        """Where the words of a query occur in a text, as start and end offsets."""
        from veracity.language import matching_spans  # noqa: PLC0415 - loads the word lists of the languages

        return matching_spans(text, query)

    def documents(self, *, only: str | Sequence[str] = ()) -> list[KnownDocument]:
        """All documents, or those that match one of these paths and patterns."""
        return self._store().documents(self._check_only(only))

    def documents_version(self) -> tuple[int, int]:
        """Changes whenever any process changes the documents. For polling."""
        return self._store().version

    def document(self, document_id: str) -> KnownDocument:
        return _require_found(self._store().document(_check_document_id(document_id)), document_id)

    def text(self, document_id: str) -> str:
        """The full text of a document. The offsets of its evidence point into it."""
        return _require_found(self._store().text(_check_document_id(document_id)), document_id)

    def page_starts(self, document_id: str) -> list[int]:
        """The offset of each page in the text of a document; empty if it has no pages."""
        return self._store().page_starts(_check_document_id(document_id))

    def is_markdown(self, document_id: str) -> bool:
        """Whether the text of a document has headings, lists and tables in the syntax of Markdown."""
        return self._store().is_markdown(_check_document_id(document_id))

    def has_original(self, document_id: str) -> bool:
        """Whether `original` can open the file of a document."""
        self._parts.require_workspace()
        return self._parts.originals.has(_check_document_id(document_id))

    def original(self, document_id: str) -> AbstractContextManager[Original]:
        """The file of a document, open while the context lasts. Entering it raises `NotFoundError` if the document was
        added as text, or if its file was moved, changed or deleted since it was ingested."""
        self._parts.require_workspace()
        return self._parts.originals.open(_check_document_id(document_id))

    def page_image(self, document_id: str, page: int) -> bytes:
        """A page of a PDF document as PNG. Raises `NotFoundError` if there is no such page or no original."""
        self._parts.require_workspace()
        return self._parts.page_images.image(_check_document_id(document_id), page)

    def locate_on_page(self, document_id: str, start: int, end: int, page: int | None = None) -> DocumentPage:
        """Where characters `start` to `end` of a PDF document are: on the page on which they begin, or on another."""
        self._parts.require_workspace()
        return self._parts.page_images.locate(_check_document_id(document_id), start, end, page)

    def digest(self, document_id: str) -> str:
        """The SHA-256 digest of the file of a document; empty if it was added as text."""
        fingerprint = self._store().fingerprint(_check_document_id(document_id))
        return _require_found(fingerprint, document_id).digest

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the documents with this id or path, their text in receipts and observations, and uploaded files."""
        from veracity.knowledge.library import forget  # noqa: PLC0415 - imports LanceDB

        _require_text(name, "The document")
        store, uploads = self._store(), self._uploads

        def forget_elsewhere(document_ids: list[str]) -> None:
            record("document", document_ids)
            remove_reports(self._parts.workspace.experiments_folder)
            self._parts.ledger.forget_documents(document_ids, self._observations())
            uploads.remove(document.location for document in store.documents() if document.id in document_ids)

        with uploads.lock(FORGET_TIMEOUT_SECONDS), self._parts.ledger.journal.forgetting() as record:
            return forget(store, name, uploads.locations, forget_elsewhere, self._parts.shared_lock)

    def purge_forgotten(self, *, only_if_cheap: bool = False) -> bool:
        """Remove documents from the disk that were forgotten more than ten minutes ago; False if there are none.

        A server calls it every few minutes. Changes of the documents and `recover` do it `only_if_cheap`: if there are
        few passages.
        """
        from veracity.knowledge.library import purge_forgotten  # noqa: PLC0415 - imports LanceDB

        return purge_forgotten(self._store(), self._parts.shared_lock, only_if_cheap=only_if_cheap)

    def readiness_checks(self) -> dict[str, Callable[[], None]]:
        """What answering needs, by name. Each function raises `VeracityError` if that cannot be used now."""
        return {
            "ledger": lambda: self._parts.ledger.require_writable(),  # noqa: PLW0108 - opened by the check
            "knowledge": lambda: self._store().require_readable(),
            "disk": lambda: require_space(self._parts.workspace.root, self.settings.server.free_megabytes),
        }

    def indexed_with(self) -> tuple[str, int] | None:
        """The embedder that made the stored vectors, and their dimensions. None if there are no documents."""
        return self._store().stored_embedder()

    def reindex(self, *, progress: Progress = _ignore) -> IngestReport:
        """Chunk and embed all stored documents again with the current settings. Does not read their files."""
        self._parts.require_workspace()
        return self._parts.library.reindex(progress)

    # Approvals

    def approvals(
        self, *, user: str | None = None, limit: int = 100, state: str = "pending", after: str = ""
    ) -> list[Approval]:
        """The drafts that need approval, oldest first; in another `state` or "any", newest first.

        `user` asked the question. `after` is the last approval of the previous page.
        """
        _require_limit(limit, MAX_LISTED, "approvals")
        _require_text(after, "The approval id")
        return self._parts.ledger.approvals(limit, user, state, encodable(after))

    def approval_states(self, limit: int = 200) -> list[ApprovalStanding]:
        """The states of the approvals that were created or decided last, newest first. For polling."""
        _require_limit(limit, MAX_LISTED, "approvals")
        return self._parts.ledger.approval_states(limit)

    def pending(self, *, user: str | None = None) -> int:
        """The number of pending approvals, of all users or of one."""
        return self._parts.ledger.pending_count(user)

    def approval(self, name: str) -> Approval:
        """Find an approval by its id, its run's id, a prefix of either, or "last" for the newest pending one."""
        _require_text(name, "The approval id")
        return self._parts.ledger.approval(encodable(name))

    def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Approve a draft, optionally replaced by `edit`; reject it, which leads to one web search; or send it back
        with `reason` as a note, which leads to another draft.

        Only the first decision counts: another raises `DecidedError`, unless it is the same with the same `key`. With
        `draft_hash`, raises `SupersededError` if the draft is another one.
        """
        events = self.stream_decision(
            approval_id, verdict, reason=reason, edit=edit, by=by, draft_hash=draft_hash, key=key
        )
        return _last_answer(events)

    def stream_decision(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
        drafts: bool = False,
    ) -> Iterator[RunEvent]:
        """Like `decide`, but yield the events that follow. The decision is stored when this method returns."""
        runner = self._parts.runner  # before the decision: it may raise
        approval = self._store_decision(
            approval_id, verdict, reason=reason, edit=edit, by=by, draft_hash=draft_hash, key=key
        )
        return runner.carry_out(approval, drafts=drafts)

    def queue_decision(self, approval_id: str, verdict: Verdict, **decision: Any) -> Approval:
        """Store a decision, with the options of `decide`, and leave the rest to a worker."""
        return self._store_decision(approval_id, verdict, queued=True, **decision)

    def _store_decision(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
        queued: bool = False,
        hold: float = 0.0,
    ) -> Approval:
        for text, what in ((approval_id, "The approval id"), (reason, "The reason"), (by, "The user")):
            _require_text(text, what)
        return self._parts.ledger.decide(
            encodable(approval_id),
            verdict,
            by=by,
            reason=encodable(reason),
            edit=None if edit is None else _check_edit(edit),
            draft_hash=draft_hash,
            key=key,
            queued=queued,
            hold=hold,
        )

    @property
    def inbox(self) -> Inbox:
        """Assigns drafts, withdraws decisions, lets drafts expire, and announces all of it."""
        return Inbox(self._parts, self._store_decision)

    @staticmethod
    def differences(before: str, after: str) -> list[Difference]:
        """Compare two texts word by word as they read when their Markdown is rendered, such as a draft and its edit.

        Long texts are compared by sentences.
        """
        from veracity.receipt.diff import diff_rendered  # noqa: PLC0415 - loads the word lists of the languages

        for text in (before, after):
            _require_text(text, "A text to compare")
        return diff_rendered(before, after)

    # Runs and conversations

    def runs(self, limit: int = 20, *, user: str | None = None, after: str = "") -> list[RunSummary]:
        """The runs, newest first. `after` is the last run of the previous page. See `recover` for interrupted runs."""
        _require_limit(limit, MAX_LISTED, "runs")
        _require_text(after, "The run id")
        interrupted = set(self._parts.ledger.interrupted())
        runs = self._parts.ledger.runs(limit, user, encodable(after))
        return [run.model_copy(update={"status": "interrupted"}) if run.run_id in interrupted else run for run in runs]

    def run_statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        return self._parts.ledger.statuses(run_ids)

    def receipt(self, run: str) -> Receipt:
        """Everything that is stored about a run, found by its id, a prefix of it, or "last"."""
        from veracity.runs.receipts import receipt  # noqa: PLC0415 - imports SQLAlchemy

        return receipt(self._parts.ledger, self._find_run(run))

    def receipt_html(self, run: str | Receipt, *, language: str = "", zone: str = "", home: str = "") -> str:
        """A receipt as one self-contained HTML page: of the run that `receipt` would find, or the given receipt.

        `language` ("en", "zh" or "ja") and `zone` ("Asia/Tokyo") are those of the reader; without them, labels are in
        the language of the question and times in UTC. `home` is the address that the page links to as the answer.
        """
        from veracity.receipt.render import render_receipt  # noqa: PLC0415 - loads the word lists of the languages

        receipt = run if isinstance(run, Receipt) else self.receipt(run)
        return render_receipt(receipt, language=language, zone=zone, home=home, scales=self.settings.scales)

    def conversations(
        self, *, user: str = LOCAL, limit: int = 20, query: str = "", after: str = ""
    ) -> list[ConversationSummary]:
        """The user's conversations, pinned ones first, then newest first; with `query`, those whose title or a turn
        contains all its words.

        `after` is the last conversation of the previous page.
        """
        _require_limit(limit, MAX_LISTED, "conversations")
        _require_text(query, "The query")
        _require_text(after, "The conversation")
        return self._parts.ledger.conversations(user, limit, encodable(query[:MAX_QUERY_LENGTH]), encodable(after))

    def turns(
        self, conversation: str, *, user: str = LOCAL, limit: int = 50, before: int | None = None
    ) -> list[PastTurn]:
        """The last turns of a conversation, or the last ones before turn number `before`, in the order asked."""
        _require_limit(limit, MAX_TURNS, "turns")
        turns = self._parts.ledger.turns(user, conversation, limit, for_display=True, before=before)
        if not any(turn.status == "running" for turn in turns):
            return turns
        interrupted = set(self._parts.ledger.interrupted())
        return [
            turn.model_copy(update={"status": "interrupted"}) if turn.run_id in interrupted else turn for turn in turns
        ]

    def describe_conversation(
        self, conversation: str, *, user: str = LOCAL, title: str | None = None, pinned: bool | None = None
    ) -> ConversationSummary:
        """Rename a conversation, or pin it: pinned ones are listed first. An empty title shows its first question."""
        if title is not None:
            _require_text(title, "The title")
        return self._parts.ledger.describe_conversation(user, conversation, title=title, pinned=pinned)

    def transcript(self, conversation: str, *, user: str = LOCAL) -> Transcript:
        """The questions of a conversation with their released answers and sources."""
        from veracity.runs.transcripts import transcribe  # noqa: PLC0415 - imports SQLAlchemy

        return transcribe(self._parts.ledger, user, conversation, self.settings.approval.threshold)

    def transcript_markdown(self, conversation: str | Transcript, *, user: str = LOCAL) -> str:
        """A transcript as Markdown: of the user's conversation, or the given transcript."""
        from veracity.runs.transcripts import render_markdown  # noqa: PLC0415 - imports SQLAlchemy

        if not isinstance(conversation, Transcript):
            conversation = self.transcript(conversation, user=user)
        return render_markdown(conversation)

    def forget_conversation(self, conversation: str, *, user: str = LOCAL) -> int:
        """Remove a conversation from the ledger, receipts, observations and the chat history of the terminal.

        Returns the number of its turns.
        """
        return self._parts.ledger.forget_conversation(user, conversation, self._observations())

    def prune(self, *, dry_run: bool = True, stop: Stop = NEVER) -> Pruned:
        """Remove what is older than the settings `retention` allow. By default, only say what would be removed.

        Runs that are under way or wait for a decision are kept. `stop` ends it from another thread between two
        transactions: then it raises `Stopped`, and the next call continues.
        """
        from veracity.ledger.expiry import Cutoffs  # noqa: PLC0415 - loads SQLAlchemy

        days = self.settings.retention
        cutoffs = Cutoffs.of(runs=days.runs_days, receipts=days.receipts_days, conversations=days.conversations_days)
        if not self._parts.has_ledger:
            return Pruned(dry_run=dry_run)
        return self._parts.ledger.prune(cutoffs, self._observations(), dry_run=dry_run, stop=stop)

    def observations(self) -> Iterator[dict[str, Any]]:
        """The records of `observational_data.json`, oldest first: answers that passed their review."""
        file = self._observations()
        if self._parts.has_ledger:
            self._parts.ledger.deliver(file)
        return file.read()

    @staticmethod
    def export_spans() -> bool:
        """Send OpenTelemetry spans to the collector that the environment names. False if it names none."""
        from veracity import telemetry  # noqa: PLC0415 - only servers need it

        return telemetry.set_up()

    @property
    def private_folder(self) -> Path:
        """Files for this machine's user only: the ledger and the history of the terminal chat."""
        return self._parts.workspace.ledger_folder

    @property
    def chat_history_file(self) -> Path:
        """Lines typed in the terminal chat. `forget_conversation` removes those of its conversation."""
        from veracity.ledger.forget import CHAT_HISTORY_FILE  # noqa: PLC0415 - loads SQLAlchemy

        return self.private_folder / CHAT_HISTORY_FILE

    @property
    def users(self) -> Users:
        """The users of the server, with their tokens and roles."""
        return self._parts.ledger.users

    # Quality

    def rate(self, run_id: str, thumb: Thumb, why: str = "", by: str = LOCAL) -> Feedback:
        """Rate an answer "up" or "down". A later rating by the same user replaces it.

        "down" makes the question a weak point, and the answer is not reused.
        """
        for text, what in ((why, "The reason"), (by, "The user")):
            _require_text(text, what)
        return self._parts.ledger.rate(self._find_run(run_id), thumb, by=by, why=encodable(why))

    def feedback(self, run_id: str) -> list[Feedback]:
        """The ratings of an answer, newest last."""
        return self._parts.ledger.feedback(self._find_run(run_id))

    def latest_feedback(self, limit: int = 1000) -> list[Feedback]:
        """The ratings of all answers, newest first."""
        _require_limit(limit, MAX_LISTED, "ratings")
        return self._parts.ledger.latest_feedback(limit) if self._parts.has_ledger else []

    def describe_metrics(self) -> EvaluatorDescription:
        """The available metrics, and which of them score the answers of runs."""
        self._parts.require_workspace()
        return self._parts.evaluator.describe()

    def evaluate(
        self,
        question: str,
        answer: str,
        context: str | Sequence[str] = (),
        *,
        metrics: str | Sequence[str] | None = None,
        user: str = LOCAL,
        stop: Stop = NEVER,
    ) -> EvaluationResult:
        """Score an answer like the answer of a run, or by the named `metrics` with equal weights.

        `context` is its evidence, in the order of the citations [1], [2], …. Takes at most `evaluator.deadline`
        seconds. `stop` ends it from another thread: then it raises `Stopped`.
        """
        passages, chosen = _as_texts(context, "passages of the context"), _as_texts(metrics or (), "metrics")
        for text, what in ((question, "The question"), (answer, "The answer"), (user, "The user")):
            _require_text(text, what)
        self._parts.require_workspace()
        evaluator = self._parts.evaluator
        request = EvaluationRequest(
            user_query=encodable(question),
            submission=encodable(answer),
            team_id=user,
            context=[encodable(text) for text in passages],
            config=evaluator.choose(chosen) if chosen else None,
        )
        return evaluator.evaluate(request, stop=stop)

    def experiment(
        self,
        suite: Path | str,
        *,
        name: str = "",
        overrides: Sequence[str] = (),
        repeat: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        concurrency: int = 4,
        budget_usd: float | None = None,
        progress: Callable[[ExperimentProgress], None] = lambda progress: None,
    ) -> ExperimentSummary:
        """Run a suite of cases and return rates and scores with their intervals (SPEC X6).

        `suite` is a file, or a name in `evals/`. Continues an experiment that was interrupted, and reuses results of
        others in which everything was the same. `overrides` change settings for it: "models.writer=openai:gpt-5".
        """
        from veracity.experiments.running import Options, plan, run  # noqa: PLC0415 - imports SciPy
        from veracity.experiments.summary import summarize  # noqa: PLC0415 - imports SciPy

        options = Options(
            name=name,
            overrides=_as_texts(overrides, "overrides"),
            repeat=repeat,
            sample=sample,
            seed=seed,
            concurrency=concurrency,
            budget_usd=budget_usd,
        )
        with self.variant(options.overrides) as engine:
            work = plan(engine, self._parts.workspace.root, str(suite), options)
            return summarize(run(engine, work, progress))

    @contextlib.contextmanager
    def variant(self, overrides: Sequence[str]) -> Iterator[Veracity]:
        """An engine of the same workspace, with other settings, until the block ends."""
        changed = with_overrides(self.settings, overrides) if overrides else self._parts.explicit_settings
        with Veracity(self.root, settings=changed, llm=self._parts.custom_llm) as engine:
            engine._parts.shares_llm = self._parts.custom_llm is not None
            yield engine

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self._parts.workspace.root

    def calibrate(self, *, risk: float = 0.05, confidence: float = 0.95, write: bool = True) -> CalibrationReport:
        """Find the lowest threshold of the gate that keeps a promise: of the answers released unseen, at most `risk`
        are wrong, with this confidence. Uses the decisions on audited and held answers.

        With `write`, a promise that can be made is kept in the workspace. It counts if `approval.threshold` is
        "calibrated".
        """
        calibrator = self._calibrator()
        report = calibrator.calibrate(risk, confidence)
        if write:
            calibrator.keep(report.statement)
        return report

    def calibration(self) -> Statement | None:
        """The statement of the last calibration, marked as withdrawn if what it relies on has changed: models, metrics,
        or the languages of the questions."""
        return self._calibrator().statement()

    def _calibrator(self) -> Calibrator:
        from veracity.experiments.calibrator import Calibrator  # noqa: PLC0415 - imports NumPy

        return Calibrator(self.conditions, self._parts.ledger if self._parts.has_ledger else None)

    @property
    def conditions(self) -> Conditions:
        """What answers and scores depend on: models, metrics, and hashes of all of it."""
        from veracity.experiments.conditions import Conditions  # noqa: PLC0415 - only experiments need it

        return Conditions(self._parts.workspace, self.settings, self._parts.evaluator, self._store())

    @property
    def evaluation_queue(self) -> EvaluationQueue:
        """Evaluations by workers. Needs a ledger in Postgres."""
        return self._parts.evaluation_queue

    def _run_parameters(
        self,
        question: str,
        conversation: str,
        user: str,
        max_rewrites: int | None,
        deadline: float | None,
        only: str | Sequence[str],
    ) -> RunParameters:
        rewrites = self.settings.quality.max_rewrites if max_rewrites is None else max_rewrites
        seconds = self.settings.answering.run_deadline if deadline is None else deadline
        question = check_question(question)
        if not isinstance(rewrites, int) or not 0 <= rewrites <= MAX_REWRITES:
            raise InputError(f"max_rewrites must be between 0 and {MAX_REWRITES}, not {rewrites}.")
        if not isinstance(seconds, int | float) or not 0 < seconds <= MAX_DEADLINE_SECONDS:
            raise InputError(f"deadline must be more than 0 and at most {MAX_DEADLINE_SECONDS} seconds, not {seconds}.")
        _require_text(user, "The user")
        _require_text(conversation, "The conversation")
        if is_experiment(user):
            raise InputError(f'A user must not be called "{presentable(user)}": that is for the cases of experiments.')
        self._parts.require_workspace()
        if not self._parts.library.store.languages():
            raise InputError("The workspace has no documents yet: add some with veracity ingest PATH.")
        return RunParameters(
            run_id=new_run_id(),
            question=question,
            user=user,
            conversation=conversation,
            max_rewrites=rewrites,
            deadline=seconds,
            only=self._check_only(only),
        )

    def _check_only(self, only: str | Sequence[str]) -> tuple[str, ...]:
        """The paths and patterns as they are stored. Raises `InputError` for one that matches no document."""
        texts = _as_texts(only, "paths and patterns")
        patterns = check_patterns([encodable(self._uploads.locations.location_of(text)) for text in texts])
        for pattern, text in zip(patterns, texts, strict=True):
            if not self._store().has_document(pattern):
                raise InputError(f'No document matches "{presentable(text)}": run "veracity documents" to list them.')
        return patterns

    def _find_run(self, name: str) -> str:
        """The full id of a run that is named by its id, a prefix of it, or "last"."""
        _require_text(name, "The run id")
        return self._parts.ledger.find(encodable(name))

    @property
    def _uploads(self) -> Uploads:
        return self._parts.uploads

    def _ingest_file(self, path: Path) -> Outcome:
        return self._parts.library.ingest([path], False, _ignore).outcomes[0]

    def _store(self) -> Store:
        """The stored documents, without an embedder: reading them needs no model and no key."""
        self._parts.require_workspace()
        return self._parts.documents

    def _observations(self) -> Observations:
        from veracity.ledger import Observations  # noqa: PLC0415 - imports SQLAlchemy

        return Observations(self._parts.workspace.observations_file)


def check_question(question: str) -> str:
    """The question as it is stored. Raises `InputError` if it is empty, has no word or is too long."""
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty: ask it in words.")
    if not any(map(str.isalnum, question)):
        raise InputError("The question contains no word: ask it in words.")
    if len(question) > MAX_QUERY_LENGTH:
        raise InputError(f"The question has {len(question):,} characters: use at most {MAX_QUERY_LENGTH:,}.")
    return encodable(question.strip())


def new_run_id() -> str:
    """A random id that starts with the time, so that ids sort by it."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(RUN_ID_ALPHABET) for _ in range(6))}"


def _last_answer(events: Iterable[RunEvent]) -> Answer:
    *_, last = events
    if last.answer is None:
        raise AssertionError("a run ends with an answer or an error")
    return last.answer


def _as_list(values: Iterable[T], what: str) -> list[T]:
    try:
        return list(values)
    except TypeError:
        raise InputError(f"The {what} must be a string or a list of strings, not {type(values).__name__}.") from None


def _as_texts(values: str | Iterable[str], what: str) -> list[str]:
    texts = [values] if isinstance(values, str) else _as_list(values, what)
    for text in texts:
        _require_text(text, f"Each of the {what}")
    return texts


def _require_text(value: str, what: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, not {type(value).__name__}.")


def _require_limit(limit: int, maximum: int, what: str) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= maximum:
        raise InputError(f"The limit must be between 1 and {maximum:,} {what}, not {limit}.")


def _check_edit(edit: str) -> str:
    _require_text(edit, "The edited answer")
    if len(edit) > MAX_EDIT_LENGTH:
        raise InputError(f"The edited answer has {len(edit):,} characters: use at most {MAX_EDIT_LENGTH:,}.")
    return encodable(edit.strip())


def _check_document_id(document_id: str) -> str:
    _require_text(document_id, "The document id")
    return encodable(document_id)


def _require_found(value: T | None, document_id: str) -> T:
    if value is None:
        raise NotFoundError(f'There is no document with the id "{presentable(document_id)}".')
    return value
