"""The engine: a workspace, its documents, the questions asked about them, and their answers.

`Veracity` is what programs use. It checks what it is given (`inputs`) and asks the parts of the workspace (`assembly`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, Unpack

from veracity import inputs
from veracity.agents.links import make_inert
from veracity.assembly import Assembly
from veracity.deadlines import NEVER, Stop
from veracity.document_reader import DocumentReader
from veracity.errors import NotFoundError
from veracity.inbox import DecisionOptions, Inbox
from veracity.knowledge.document_filter import MAX_PATTERN_LENGTH, MAX_PATTERNS
from veracity.knowledge.file_names import safe_file_name
from veracity.llm import LLM
from veracity.maintenance import Maintenance
from veracity.models import (
    LOCAL,
    Answer,
    Approval,
    ConversationSummary,
    Document,
    EvaluationRequest,
    EvaluationResult,
    Evidence,
    Feedback,
    IngestReport,
    KnownDocument,
    PastTurn,
    Pruned,
    Receipt,
    RunEvent,
    RunProgress,
    RunStanding,
    RunStatus,
    RunSummary,
    Thumb,
    Transcript,
    Verdict,
)
from veracity.models.people import experiment_user
from veracity.printable import encodable
from veracity.run_requests import RunOptions, check_only, make_run
from veracity.secrets import presentable
from veracity.settings import Settings, with_overrides
from veracity.suggested_questions import SuggestedQuestions
from veracity.uploaded_files import UploadedFiles, ignore_progress
from veracity.workspace import (
    create_workspace,
    find_workspace,
    hash_configuration,
    require_existing_workspace,
    require_workspace,
)

if TYPE_CHECKING:
    from veracity.evaluator.evaluator import EvaluatorDescription
    from veracity.experiments.calibrator import Calibrator
    from veracity.experiments.conditions import Conditions
    from veracity.experiments.running import ExperimentOptions
    from veracity.experiments.running import Progress as ExperimentProgress
    from veracity.experiments.summary import Summary as ExperimentSummary
    from veracity.knowledge.library import Progress
    from veracity.knowledge.originals import Original
    from veracity.ledger import Users
    from veracity.ledger.membership import Membership
    from veracity.ledger.traffic import SharedTraffic
    from veracity.queues.evaluation_queue import EvaluationQueue
    from veracity.queues.ingestion_queue import IngestionQueue

__all__ = [
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
        """Those in force. A calibrated threshold follows the statement in the workspace."""
        return self._parts.refresh_settings()

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self._parts.workspace.root

    @property
    def configuration(self) -> str:
        """A hash of the settings, metrics, prompts and version: processes with the same one give the same answers."""
        return hash_configuration(self._parts.workspace, self.settings)

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

    def stream(self, question: str, *, drafts: bool = False, **options: Unpack[RunOptions]) -> Iterator[RunEvent]:
        """Like `ask`, but yield an event when a step starts and ends. The last event holds the answer.

        With `drafts`, also yield pieces of drafts while they are written.
        """
        run = make_run(self._parts, question, **options)
        return self._parts.runner.stream(run, drafts=drafts)

    def begin(
        self, question: str, *, key: str = "", queued: bool = False, experiment: str = "", **options: Unpack[RunOptions]
    ) -> str:
        """Store a run, with the options of `ask`, without starting it, and return its id. `resume` runs it; a `queued`
        run is left to a worker.

        A user can use a `key` once: see `asked`. The case of an `experiment` has no user: nobody is asked to approve
        it, and nothing is learned from it.
        """
        run = make_run(self._parts, question, **options)
        if experiment:
            run = run.model_copy(update={"user": experiment_user(experiment)})
        return self._parts.runner.begin(run, inputs.check_text(key, "The key"), queued=queued)

    def asked(self, *, user: str = LOCAL, key: str) -> RunSummary | None:
        """The run that this user began with this key, so that a retried request does not ask again."""
        return self._parts.ledger.run_by_key(user, inputs.check_text(key, "The key"))

    def runs_asking(self, question: str, *, user: str = LOCAL, limit: int = 20) -> list[RunSummary]:
        """The user's runs with exactly this question, newest first."""
        inputs.require_limit(limit, "runs")
        return self._parts.ledger.runs_with_question(user, inputs.check_text(question, "The question").strip(), limit)

    def resume(self, run_id: str, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Continue a run that was begun, decided or interrupted. Yields nothing while another process runs it."""
        return self._parts.runner.resume(self._find_run(run_id), drafts=drafts)

    def stop(self, run_id: str, *, by: str = LOCAL) -> RunSummary:
        """Fail a running run: what it waits for ends, such as a model's reply.

        A run that has ended, waits for approval or was decided is not changed.
        """
        inputs.require_text(by, "The user")
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

    def recover(self) -> list[Answer]:
        """Resume all `interrupted` runs. Call it when a program starts.

        Also ends drafts that have expired, sends announcements that are due, and removes documents from the disk that
        were forgotten a while ago, if that takes little time.
        """
        return self.maintenance.recover()

    def prepare(self) -> None:
        """Load what questions need, so that the first one does not wait. Calls no provider."""
        _ = self._parts.runner

    def progress(self, run_id: str) -> RunProgress:
        """The steps of a run so far and its answer, whichever process runs it."""
        return self._parts.runner.progress(self._find_run(run_id))

    def standing(self, run_id: str) -> RunStanding:
        """The state of the run with this id. Cheaper than `progress`, for polling."""
        if standing := self._parts.ledger.run_state(inputs.check_text(run_id, "The run id")):
            return standing
        raise NotFoundError(f'There is no run "{presentable(run_id)}".')

    @property
    def suggestions(self) -> SuggestedQuestions:
        """Questions that the documents are known to answer, for people who do not know what to ask."""
        return SuggestedQuestions(self._parts)

    # Documents

    def ingest(
        self,
        paths: Path | str | Sequence[Path | str],
        *,
        include: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        prune: bool = False,
        progress: Progress = ignore_progress,
    ) -> IngestReport:
        """Index files, folders or glob patterns. `progress` is called with the outcome of every file.

        `include` and `exclude` are patterns in the syntax of .gitignore: of the files found, those that match one of
        `include` and none of `exclude` are read. `left_out` of the report counts the others.
        """
        from veracity.knowledge.selection import Selection  # noqa: PLC0415 - imports pathspec

        listed, wanted = inputs.check_paths(paths), inputs.check_texts(include, "patterns to include")
        selection = Selection(wanted, inputs.check_texts(exclude, "patterns to exclude"))
        return self._parts.library.ingest(listed, prune, progress, selection)

    def add(self, documents: Document | Iterable[Document], *, progress: Progress = ignore_progress) -> IngestReport:
        """Index texts from memory. A document with a known id replaces the old one."""
        listed = inputs.check_documents(documents)
        return self._parts.library.add(listed, progress)

    def upload(self, name: str, source: BinaryIO, *, progress: Progress = ignore_progress) -> IngestReport:
        """Store and index a file. It replaces an uploaded file with the same name; `forget` removes it."""
        return self.uploads.add(name, source, progress)

    @property
    def uploads(self) -> UploadedFiles:
        """Uploads of people: announces them, and finishes those that were interrupted."""
        return UploadedFiles(self._parts)

    @property
    def ingestion_queue(self) -> IngestionQueue:
        """Uploads that workers ingest. Needs a ledger in Postgres."""
        return self._parts.ingestion_queue

    def search(
        self, query: str, top_k: int = 10, *, sources: str | Sequence[str] | None = None, only: str | Sequence[str] = ()
    ) -> list[Evidence]:
        """The passages that match the query, best first. `sources` default to the settings.

        With `only`, the passages come from documents that match one of these paths and patterns.
        """
        query = inputs.check_search(query, top_k)
        self._parts.require_workspace()
        names = [sources] if isinstance(sources, str) else sources
        searcher = self._parts.searcher_for(check_only(self._parts, only))
        return searcher.search(query, top_k, names)

    def documents(self, *, only: str | Sequence[str] = ()) -> list[KnownDocument]:
        """All documents, or those that match one of these paths and patterns."""
        return self._parts.documents.documents(check_only(self._parts, only))

    def document(self, document_id: str) -> KnownDocument:
        return self.reader.document(document_id)

    def text(self, document_id: str) -> str:
        """The full text of a document. The offsets of its evidence point into it."""
        return self.reader.text(document_id)

    def original(self, document_id: str) -> AbstractContextManager[Original]:
        """The file of a document, open while the context lasts. Entering it raises `NotFoundError` if the document was
        added as text, or if its file was moved, changed or deleted since it was ingested."""
        return self.reader.original(document_id)

    @property
    def reader(self) -> DocumentReader:
        """Shows documents: their text, pages and original files."""
        return DocumentReader(self._parts)

    def forget(self, name: str) -> list[KnownDocument]:
        """Remove the documents with this id or path, their text in receipts and observations, and uploaded files."""
        return self.maintenance.forget(name)

    def reindex(self, *, progress: Progress = ignore_progress) -> IngestReport:
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
        inputs.require_limit(limit, "approvals")
        return self._parts.ledger.approvals(limit, user, state, inputs.check_text(after, "The approval id"))

    def pending(self, *, user: str | None = None) -> int:
        """The number of pending approvals, of all users or of one."""
        return self._parts.ledger.pending_count(user)

    def approval(self, name: str) -> Approval:
        """Find an approval by its id, its run's id, a prefix of either, or "last" for the newest pending one."""
        return self._parts.ledger.approval(inputs.check_text(name, "The approval id"))

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
        self, approval_id: str, verdict: Verdict, *, drafts: bool = False, **decision: Unpack[DecisionOptions]
    ) -> Iterator[RunEvent]:
        """Like `decide`, but yield the events that follow. The decision is stored when this method returns."""
        runner = self._parts.runner  # before the decision: it may raise
        return runner.carry_out(self.inbox.store_decision(approval_id, verdict, **decision), drafts=drafts)

    @property
    def inbox(self) -> Inbox:
        """Assigns drafts, holds and withdraws decisions, lets drafts expire, and announces all of it."""
        return Inbox(self._parts)

    # Runs and conversations

    def runs(self, limit: int = 20, *, user: str | None = None, after: str = "") -> list[RunSummary]:
        """The runs, newest first. `after` is the last run of the previous page. See `recover` for interrupted runs."""
        inputs.require_limit(limit, "runs")
        interrupted = set(self._parts.ledger.interrupted())
        runs = self._parts.ledger.runs(limit, user, inputs.check_text(after, "The run id"))
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
        inputs.require_limit(limit, "conversations")
        query, after = inputs.check_text(query, "The query"), inputs.check_text(after, "The conversation")
        return self._parts.ledger.conversations(user, limit, query[: inputs.MAX_QUERY_LENGTH], after)

    def turns(
        self, conversation: str, *, user: str = LOCAL, limit: int = 50, before: int | None = None
    ) -> list[PastTurn]:
        """The last turns of a conversation, or the last ones before turn number `before`, in the order asked."""
        inputs.require_limit(limit, "turns", inputs.MAX_TURNS)
        turns = self._parts.ledger.turns(user, conversation, limit, for_display=True, before=before)
        if not any(turn.status == "running" for turn in turns):
            return turns
        interrupted = set(self._parts.ledger.interrupted())
        marked = {"status": "interrupted"}
        return [turn.model_copy(update=marked) if turn.run_id in interrupted else turn for turn in turns]

    def describe_conversation(
        self, conversation: str, *, user: str = LOCAL, title: str | None = None, pinned: bool | None = None
    ) -> ConversationSummary:
        """Rename a conversation, or pin it: pinned ones are listed first. An empty title shows its first question."""
        if title is not None:
            inputs.require_text(title, "The title")
        return self._parts.ledger.describe_conversation(user, conversation, title=title, pinned=pinned)

    def transcript(self, conversation: str, *, user: str = LOCAL) -> Transcript:
        """The questions of a conversation with their released answers and sources."""
        from veracity.runs.transcripts import transcribe  # noqa: PLC0415 - imports SQLAlchemy

        gate = self.settings.approval
        return transcribe(self._parts.ledger, self._parts.documents, user, conversation, gate)

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
        return self._parts.ledger.forget_conversation(user, conversation, self._parts.observations)

    # Quality

    def rate(self, run_id: str, thumb: Thumb, why: str = "", by: str = LOCAL) -> Feedback:
        """Rate an answer "up" or "down". A later rating by the same user replaces it.

        "down" makes the question a weak point, and the answer is not reused.
        """
        inputs.require_text(by, "The user")
        return self._parts.ledger.rate(self._find_run(run_id), thumb, by=by, why=inputs.check_text(why, "The reason"))

    def feedback(self, run_id: str) -> list[Feedback]:
        """The ratings of an answer, newest last."""
        return self._parts.ledger.feedback(self._find_run(run_id))

    def latest_feedback(self, limit: int = 1000) -> list[Feedback]:
        """The ratings of all answers, newest first."""
        inputs.require_limit(limit, "ratings")
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
        texts = [encodable(text) for text in inputs.check_texts(context, "passages of the context")]
        chosen = inputs.check_texts(metrics or (), "metrics")
        question, answer = inputs.check_text(question, "The question"), inputs.check_text(answer, "The answer")
        inputs.require_text(user, "The user")
        self._parts.require_workspace()
        evaluator = self._parts.evaluator
        config = evaluator.choose(chosen) if chosen else None
        request = EvaluationRequest(user_query=question, submission=answer, team_id=user, context=texts, config=config)
        return evaluator.evaluate(request, stop=stop)

    @property
    def evaluation_queue(self) -> EvaluationQueue:
        """Evaluations by workers. Needs a ledger in Postgres."""
        return self._parts.evaluation_queue

    def experiment(
        self,
        suite: Path | str,
        *,
        overrides: Sequence[str] = (),
        progress: Callable[[ExperimentProgress], None] = lambda progress: None,
        **options: Unpack[ExperimentOptions],
    ) -> ExperimentSummary:
        """Run a suite of cases and return rates and scores with their intervals (SPEC X6).

        `suite` is a file, or a name in `evals/`. Continues an experiment that was interrupted, and reuses results of
        others in which everything was the same. `overrides` change settings for it: "models.writer=openai:gpt-5".
        """
        from veracity.experiments.running import Options, plan, run  # noqa: PLC0415 - imports SciPy
        from veracity.experiments.summary import summarize  # noqa: PLC0415 - imports SciPy

        chosen = Options(overrides=inputs.check_texts(overrides, "overrides"), **options)
        with self.variant(chosen.overrides) as engine:
            return summarize(run(engine, plan(engine, self.root, str(suite), chosen), progress))

    @property
    def calibrator(self) -> Calibrator:
        """Finds the threshold of the gate that keeps a promise, from the decisions of people."""
        return self._parts.calibrator

    @property
    def conditions(self) -> Conditions:
        """What answers and scores depend on: models, metrics, and hashes of all of it."""
        return self._parts.conditions

    @contextlib.contextmanager
    def variant(self, overrides: Sequence[str]) -> Iterator[Veracity]:
        """An engine of the same workspace, with other settings, until the block ends."""
        changed = with_overrides(self.settings, overrides) if overrides else self._parts.explicit_settings
        with Veracity(self.root, settings=changed, llm=self._parts.custom_llm) as engine:
            engine._parts.shares_llm = self._parts.custom_llm is not None
            yield engine

    # Operation

    @property
    def private_folder(self) -> Path:
        """Files for this machine's user only: the ledger and the history of the terminal chat."""
        return self._parts.workspace.ledger_folder

    @property
    def chat_history_file(self) -> Path:
        """Lines typed in the terminal chat. `forget_conversation` removes those of its conversation."""
        return self._parts.workspace.chat_history_file

    @property
    def users(self) -> Users:
        """The users of the server, with their tokens and roles."""
        return self._parts.ledger.users

    @property
    def membership(self) -> Membership:
        """The servers and workers that share the ledger, and what they tell each other."""
        return self._parts.ledger.membership

    @property
    def traffic(self) -> SharedTraffic:
        """The requests, streams and questions of each user on all servers, for their limits."""
        return self._parts.ledger.traffic

    @property
    def maintenance(self) -> Maintenance:
        """Resumes what was interrupted, removes what was forgotten or is too old, and checks what answering needs."""
        return Maintenance(self._parts)

    def prune(self, *, dry_run: bool = True, stop: Stop = NEVER) -> Pruned:
        """Remove what is older than the settings `retention` allow. By default, only say what would be removed.

        Runs that are under way or wait for a decision are kept. `stop` ends it from another thread between two
        transactions: then it raises `Stopped`, and the next call continues.
        """
        return self.maintenance.prune(dry_run=dry_run, stop=stop)

    def observations(self) -> Iterator[dict[str, Any]]:
        """The records of `observational_data.json`, oldest first: answers that passed their review."""
        return self.maintenance.observations()

    def _find_run(self, name: str) -> str:
        """The full id of a run that is named by its id, a prefix of it, or "last"."""
        return self._parts.ledger.find(inputs.check_text(name, "The run id"))


def _last_answer(events: Iterable[RunEvent]) -> Answer:
    *_, last = events
    if last.answer is None:
        raise AssertionError("a run ends with an answer or an error")
    return last.answer
