"""The engine: owns a workspace: its documents, answering questions about them, and what came of that."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from veracity.assembly import Assembly
from veracity.deadlines import Deadline
from veracity.errors import InputError, LedgerError, NotFoundError
from veracity.models import (
    LOCAL,
    Answer,
    Approval,
    ApprovalStanding,
    ConversationSummary,
    Document,
    EvaluationRequest,
    EvaluationResult,
    Evidence,
    Feedback,
    IngestReport,
    KnownDocument,
    Outcome,
    PastTurn,
    Receipt,
    RunEvent,
    RunProgress,
    RunStanding,
    RunStatus,
    RunSummary,
    Thumb,
    Verdict,
)
from veracity.printable import encodable
from veracity.secrets import presentable

if TYPE_CHECKING:
    from veracity.evaluator.evaluator import EvaluatorDescription
    from veracity.knowledge.library import Progress
    from veracity.knowledge.store import Store
    from veracity.knowledge.uploads import Uploads
    from veracity.ledger import Users

MOST_RESULTS = 1000

MOST_RUNS = 100_000

MOST_TURNS = 1_000_000

LONGEST_QUERY = 10_000  # characters; what comes after them is not read

LONGEST_EDIT = 20_000

T = TypeVar("T")


def listed(given: Iterable[T], what: str) -> list[T]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"The {what} are given as text or as a list of it, not as {type(given).__name__}.") from None


def listed_texts(given: str | Iterable[str], what: str) -> list[str]:
    """One text is a list of one, and not of its letters."""
    texts = [given] if isinstance(given, str) else listed(given, what)
    for text in texts:
        require_text(text, f"Each of the {what}")
    return texts


def require_text(name: str, what: str) -> None:
    if not isinstance(name, str):
        raise InputError(f"{what} is named by text, not by {type(name).__name__}.")


def checked_edit(edit: str) -> str:
    require_text(edit, "An edited answer")
    if len(edit) > LONGEST_EDIT:
        raise InputError(f"The edited answer has {len(edit):,} characters: at most {LONGEST_EDIT:,} are taken.")
    return encodable(edit.strip())


def checked_question(question: str) -> str:
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty: ask it in words.")
    if not any(map(str.isalnum, question)):
        raise InputError("The question holds no word: ask it in words.")
    if len(question) > LONGEST_QUERY:
        raise InputError(f"The question has {len(question):,} characters: ask it in at most {LONGEST_QUERY:,}.")
    return encodable(question.strip())


def require_number(number: int, most: int, what: str) -> None:
    if not isinstance(number, int) or not 1 <= number <= most:
        raise InputError(f"Between 1 and {most:,} {what} are listed, not {number}.")


def answer_of(events: Iterable[RunEvent]) -> Answer:
    *_, last = events
    if last.answer is None:
        raise AssertionError("a run ends with an answer or an error")
    return last.answer


AT_ONCE = 5.0  # seconds that a removal waits for others who bring documents in


def _checked(document_id: str) -> str:
    require_text(document_id, "A document")
    return encodable(document_id)


def _found(found: T | None, document_id: str) -> T:
    if found is None:
        raise NotFoundError(f'There is no document with the id "{presentable(document_id)}".')
    return found


def _ignore(outcome: Outcome, to_come: int | None) -> None:
    """For who does not watch."""


class Veracity(Assembly):
    """A workspace. Can be shared by threads. `close` it, or use it in a `with`, to end its processes at once; it cannot
    be used after that.

    A folder that is not there is created when something is brought in.
    """

    def ask(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """An answer from the documents, every sentence cited and checked, or an abstention that says what is missing.

        Questions of one `conversation` follow on one another. An answer that scores low has the status
        "awaiting_approval": see `approvals` and `decide`. `deadline` is in seconds. Without it and `max_rewrites`,
        those of the settings.
        """
        events = self.stream(
            question, conversation=conversation, user=user, max_rewrites=max_rewrites, deadline=deadline
        )
        return answer_of(events)

    def stream(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
        drafts: bool = False,
    ) -> Iterator[RunEvent]:
        """The same, telling of each step when it begins and when it ends; with `drafts`, also of drafts as they are
        written. The last event holds the answer."""
        asked = self._checked(question, conversation, user, max_rewrites, deadline)
        return self._runs.stream(*asked, drafts=drafts)

    def begin(
        self,
        question: str,
        *,
        conversation: str = "",
        user: str = LOCAL,
        max_rewrites: int | None = None,
        deadline: float | None = None,
        key: str = "",
    ) -> str:
        """Take a question in and do nothing yet: the run of this id is in the ledger, and `resume` goes on with it. One
        whose process ends before that is "interrupted", as any other. Under one `key` a user asks once: see `asked`."""
        asked = self._checked(question, conversation, user, max_rewrites, deadline)
        require_text(key, "A key")
        return self._runs.begin(*asked, encodable(key))

    def asked(self, *, user: str = LOCAL, key: str) -> RunSummary | None:
        """The run that this user began under the key, so that a question that is sent again is not asked again."""
        require_text(key, "A key")
        return self._ledger.run_under(user, encodable(key))

    def runs_asking(self, question: str, *, user: str = LOCAL, limit: int = 20) -> list[RunSummary]:
        """Those of this user that ask exactly this, the latest first."""
        require_text(question, "A question")
        require_number(limit, MOST_RUNS, "runs")
        return self._ledger.runs_asking(user, encodable(question.strip()), limit)

    def stop(self, run_id: str, *, by: str = LOCAL) -> RunSummary:
        """End a run that is under way: it has failed at once, and what works on it ends after the step it is at. What
        has ended, waits for a person or follows from a decision stays as it is; the status tells."""
        require_text(run_id, "A run")
        require_text(by, "Whoever stops it")
        stopped = self._ledger.stop(self._ledger.find(encodable(run_id)), by)
        if stopped.status == "failed" and (runs := self._runs_there()):
            runs.let_go(stopped.run_id)
        return stopped

    def resume(self, run_id: str, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Go on with a run that was begun, decided on or interrupted. Nothing happens where somebody else is at it."""
        require_text(run_id, "A run")
        return self._runs.resume(self._ledger.find(encodable(run_id)), drafts)

    def prepare(self) -> None:
        """Load what asking needs, so that the first question does not wait for it. Calls no provider."""
        _ = self._runs

    def standing(self, run_id: str) -> RunStanding:
        """How the run with this id stands, for who looks often: `progress` tells more."""
        require_text(run_id, "A run")
        if standing := self._ledger.standing(encodable(run_id)):
            return standing
        raise NotFoundError(f'There is no run "{presentable(run_id)}".')

    def progress(self, run_id: str) -> RunProgress:
        """How far a run has come, whichever process is at it: its steps, and how it ended."""
        require_text(run_id, "A run")
        return self._runs.progress(self._ledger.find(encodable(run_id)))

    def leave(self) -> None:
        """For a program that ends: the runs that are under way stop after the step they are at, and can be taken up."""
        if runs := self._runs_there():
            runs.leave()

    def interrupted(self) -> list[str]:
        """The runs that a process left which died, and those that were decided and not carried out."""
        return self._ledger.interrupted()

    def recover(self) -> list[Answer]:
        """Take up what a process left that died, and what was decided and not carried out: the sweep for the start of a
        program. `runs` lists such a run as "interrupted"."""
        if self.interrupted():
            return self._runs.recover()
        if self._workspace.ledger_folder.exists():
            from veracity.ledger import Observations  # noqa: PLC0415 - loads SQLAlchemy

            with contextlib.suppress(LedgerError):  # what cannot be written now is written with the next answer
                self._ledger.deliver(Observations(self._workspace.observations_file))
        return []

    def _checked(
        self, question: str, conversation: str, user: str, max_rewrites: int | None, deadline: float | None
    ) -> tuple[str, str, int, float, str]:
        settings = self._settings
        rewrites = settings.quality.max_rewrites if max_rewrites is None else max_rewrites
        seconds = settings.answering.run_deadline if deadline is None else deadline
        asked = checked_question(question)
        if not isinstance(rewrites, int) or not 0 <= rewrites <= 20:
            raise InputError(f"A query is rewritten between 0 and 20 times, not {rewrites}.")
        if not isinstance(seconds, int | float) or not 0 < seconds <= 86400:
            raise InputError(f"A run may take more than 0 and at most 86400 seconds, not {seconds}.")
        require_text(user, "A user")
        require_text(conversation, "A conversation")
        self._require_workspace()
        if not self._library.store.languages():
            raise InputError("The workspace holds no documents yet: bring some in with veracity ingest PATH.")
        return asked, user, rewrites, seconds, conversation

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

    def approvals(
        self, *, user: str | None = None, limit: int = 100, state: str = "pending", after: str = ""
    ) -> list[Approval]:
        """The drafts that wait for a person, the longest waiting first. `user` is who asked. Of another `state`, or of
        "any": the newest first. `after` is the last one that is known: those that follow it."""
        require_number(limit, MOST_RUNS, "approvals")
        require_text(after, "An approval")
        return self._ledger.approvals(limit, user, state, encodable(after))

    def approval_states(self, limit: int = 200) -> list[ApprovalStanding]:
        """How the approvals stand that were made or decided last, the latest first: for who looks every second."""
        require_number(limit, MOST_RUNS, "approvals")
        return self._ledger.approval_states(limit)

    def pending(self, *, user: str | None = None) -> int:
        """How many drafts wait for a person. `user` is who asked."""
        return self._ledger.pending(user)

    def approval(self, name: str) -> Approval:
        """By its id, the beginning of it, its run's id, or "last": the newest that waits."""
        require_text(name, "An approval")
        return self._ledger.approval(encodable(name))

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
        """Approve a draft, as it is or with `edit` in its place, or reject it: then the web is searched, once.

        The first decision counts, any other raises `DecidedError`; the same one again under the same `key` gives the
        same answer. With `draft_hash`, only the draft that was seen is decided on.
        """
        events = self.stream_decision(
            approval_id, verdict, reason=reason, edit=edit, by=by, draft_hash=draft_hash, key=key
        )
        return answer_of(events)

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
        """The same, telling of the steps that follow, and with `drafts` of drafts. It counts when this returns."""
        for text, what in ((approval_id, "An approval"), (reason, "A reason"), (by, "Whoever decides")):
            require_text(text, what)
        runs = self._runs  # what is needed to go on must be there before anything is decided
        decided = self._ledger.decide(
            encodable(approval_id),
            verdict,
            by=by,
            reason=encodable(reason),
            edit=None if edit is None else checked_edit(edit),
            draft_hash=draft_hash,
            key=key,
        )
        return runs.carry_out(decided, drafts)

    def runs(self, limit: int = 20, *, user: str | None = None, after: str = "") -> list[RunSummary]:
        """What was asked, the latest first. "interrupted" is what a process left that died: see `recover`. `after` is
        the last one that is known: those that follow it."""
        require_number(limit, MOST_RUNS, "runs")
        require_text(after, "A run")
        left = set(self._ledger.interrupted())
        listed = self._ledger.runs(limit, user, encodable(after))
        return [run.model_copy(update={"status": "interrupted"}) if run.run_id in left else run for run in listed]

    def receipt(self, run: str) -> Receipt:
        """All that is known of a run: by its id, the beginning of it, or "last"."""
        from veracity.runs.receipts import receipt  # noqa: PLC0415 - loads SQLAlchemy

        require_text(run, "A run")
        return receipt(self._ledger, self._ledger.find(encodable(run)))

    def run_statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        return self._ledger.statuses(run_ids)

    def conversations(
        self, *, user: str = LOCAL, limit: int = 20, query: str = "", after: str = ""
    ) -> list[ConversationSummary]:
        """Those of this user, the latest first. With a query, those in which a turn holds all its words. `after` is the
        last one that is known: those that follow it."""
        require_number(limit, MOST_RUNS, "conversations")
        require_text(query, "What to look for")
        require_text(after, "A conversation")
        return self._ledger.conversations(user, limit, encodable(query[:LONGEST_QUERY]), encodable(after))

    def turns(
        self, conversation: str, *, user: str = LOCAL, limit: int = 50, before: int | None = None
    ) -> list[PastTurn]:
        """What was asked and answered in a conversation, the latest last; with `before`, just before that turn."""
        require_number(limit, MOST_TURNS, "turns")
        turns = self._ledger.turns(user, conversation, limit, to_show=True, before=before)
        left = set(self._ledger.interrupted()) if any(turn.status == "running" for turn in turns) else set()
        return [turn.model_copy(update={"status": "interrupted"}) if turn.run_id in left else turn for turn in turns]

    def forget_conversation(self, conversation: str, *, user: str = LOCAL) -> int:
        """Remove its questions and answers from ledger, receipts and observations, and what was typed in it at a
        terminal. How many turns it had."""
        from veracity.ledger import Observations  # noqa: PLC0415 - loads SQLAlchemy

        return self._ledger.forget_conversation(user, conversation, Observations(self._workspace.observations_file))

    @property
    def users(self) -> Users:
        """Who may use the workspace over the network, by which token, in which role."""
        return self._ledger.users

    def rate(self, run_id: str, thumb: Thumb, why: str = "", by: str = LOCAL) -> Feedback:
        """Say that an answer is good ("up"), or not ("down"): then its question is a weak point, and the answer is not
        used again. What the same person says later takes the place of it."""
        for text, what in ((run_id, "A run"), (why, "A reason"), (by, "Whoever rates")):
            require_text(text, what)
        return self._ledger.rate(self._ledger.find(encodable(run_id)), thumb, by=by, why=encodable(why))

    def feedback(self, run_id: str) -> list[Feedback]:
        """What people said of an answer, the latest last."""
        require_text(run_id, "A run")
        return self._ledger.feedback(self._ledger.find(encodable(run_id)))

    def describe_metrics(self) -> EvaluatorDescription:
        """The metrics there are, and which of them score the answers of runs."""
        self._require_workspace()
        return self._gate.describe()

    def evaluate(
        self,
        question: str,
        answer: str,
        context: str | Sequence[str] = (),
        *,
        metrics: str | Sequence[str] | None = None,
        user: str = LOCAL,
    ) -> EvaluationResult:
        """Score an answer as those of runs are scored, or by the `metrics` of these names, in equal parts. `context` is
        the evidence it was given, in the order in which [1], [2], … name it."""
        passages, chosen = listed_texts(context, "passages of the context"), listed_texts(metrics or (), "metrics")
        for text, what in ((question, "A question"), (answer, "An answer"), (user, "A user")):
            require_text(text, what)
        self._require_workspace()
        gate = self._gate
        request = EvaluationRequest(
            user_query=encodable(question),
            submission=encodable(answer),
            team_id=user,
            context=[encodable(text) for text in passages],
            config=gate.choose(chosen) if chosen else None,
        )
        return gate.evaluate(request, deadline=Deadline.within(self._settings.answering.run_deadline))
