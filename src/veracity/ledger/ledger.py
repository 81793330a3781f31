"""The ledger: what was asked, what each run did, and what came of it.

Every call is one transaction: a killed process leaves it done or not done. Committed calls survive the end of the
process; a power failure may lose the last milliseconds. Threads can share a ledger, and processes a workspace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, get_args

from sqlalchemy import Connection

from veracity.deadlines import NEVER, Stop
from veracity.errors import InputError, LedgerError, LostLeaseError, NotFoundError
from veracity.ledger import forget, leases, observations, prune, rating
from veracity.ledger.backend import open_backend
from veracity.ledger.expiry import Cutoffs
from veracity.ledger.forget import Exposure
from veracity.ledger.inbox import Inbox, make_decision
from veracity.ledger.journal import Journal, name_conversation
from veracity.ledger.membership import Membership
from veracity.ledger.observations import Observations
from veracity.ledger.rows import (
    approvals,
    calls,
    conversations,
    evidence,
    feedback,
    recall,
    runs,
    upload_lists,
    weak_points,
)
from veracity.ledger.rows import examples as example_rows
from veracity.ledger.rows.evaluations import Evaluations
from veracity.ledger.rows.examples import Examples
from veracity.ledger.rows.ingestions import Ingestions
from veracity.ledger.rows.runs import LockedRun
from veracity.ledger.rows.upload_lists import UploadLists
from veracity.ledger.rows.users import Users
from veracity.ledger.rows.weak_points import WeakPoint
from veracity.ledger.run_queue import RunQueue
from veracity.ledger.tables import normalize_conversation, normalize_name, normalize_user
from veracity.ledger.traffic import SharedTraffic
from veracity.models import (
    Answer,
    Approval,
    ApprovalStanding,
    ApprovalState,
    ConversationSummary,
    Decision,
    Evidence,
    Feedback,
    LedgerChange,
    ModelCall,
    PastTurn,
    Pruned,
    Remembered,
    RunParameters,
    RunStanding,
    RunStatus,
    RunSummary,
    Step,
    Thumb,
    Usage,
    Verdict,
)
from veracity.models.steps import ERASED_TEXT
from veracity.secrets import presentable

MAX_TURNS = 1_000_000
SCRUB_SECONDS = 60.0  # between attempts to finish interrupted forgetting
ANY_STATE = "any"
STATES = (*get_args(ApprovalState), ANY_STATE)
WeakReason = Literal["failed_review", "low_score", "rejected", "disliked"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunRecords:
    """Stored along with an answer. A `recallable` one can be found by its words and by `vector` (float32 bytes). An
    `audit` asks a person about it afterwards."""

    weak_point: WeakReason | None = None
    observation: dict[str, Any] | None = None
    recallable: bool = False
    vector: bytes | None = None
    audit: Approval | None = None


class Ledger:
    """A file in `folder`, which is created with the first write, or the Postgres database at `url`. Calls that take a
    `token`, from begin() or acquire_lease(), raise `LostLeaseError` and change nothing if another process has acquired
    the run since."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self._folder = folder
        self._database, self._owners, jobs, listen = open_backend(folder, url)
        self._renewal = leases.Renewal(self._renew)
        self._is_shared = bool(url)
        self.membership = Membership(self._database, self._owners, self._register, listen)
        self._run_queue = RunQueue(self._database, jobs)
        self._next_scrub = 0.0
        self.journal = Journal(folder)
        self.users = Users(self._database, self.journal)
        self.inbox = Inbox(self._database, jobs)
        self.ingestions = Ingestions(self._database, jobs)
        self.evaluations = Evaluations(self._database, jobs)
        self.upload_lists = UploadLists(self._database)
        self.examples = Examples(self._database)
        self.traffic = SharedTraffic(self._database)

    def close(self) -> None:
        """Other processes can resume the runs of this one."""
        self._renewal.close()
        self.membership.leave()
        self._database.close()
        self._owners.close()

    def require_writable(self) -> None:
        """Raise `LedgerError` if it cannot be written now. A ledger that does not exist yet is not created."""
        if self._database.exists:
            with self._database.writing():
                pass
        elif not os.access(next(path for path in (self._folder, *self._folder.parents) if path.exists()), os.W_OK):
            raise LedgerError(f'"{self._folder}" cannot be created: make the workspace a folder that can be written.')

    def begin(
        self, run: RunParameters, language: str, models: dict[str, str], *, key: str = "", queued: bool = False
    ) -> int:
        """Store a new run and return the token of its lease. Each user can use a `key` once. A `queued` run is left to
        a worker."""
        names = {
            "run_id": normalize_name(run.run_id, "a run", 1),
            "user": normalize_user(run.user),
            "conversation": normalize_conversation(run.conversation) if run.conversation else "",
        }
        run, owner = run.model_copy(update=names), self._register()
        with self._database.writing() as connection:
            turn = conversations.next_turn(connection, run.user, run.conversation) if run.conversation else 0
            runs.add(connection, run, turn, language, models, key)
            token = leases.grant_first(connection, run.run_id, owner, self._owners.host)
            if queued:
                leases.release(connection, run.run_id)
                self._run_queue.add(connection, run.run_id, run.user)
            return token

    def acquire_lease(self, run_id: str) -> int | None:
        """A token for a run whose owner died or hangs, or whose draft was decided, else None."""
        if not self._database.exists:
            return None
        owner = self._register()
        with self._database.writing() as connection:
            return leases.acquire(connection, run_id, self._owners, owner)

    @contextmanager
    def fenced(self, run_id: str, token: int) -> Iterator[Any]:
        """No other process can acquire the run during the block. Yields the driver's connection, which the block may
        use: what it writes there is stored only if the token was current."""
        with self._database.writing() as connection:
            leases.hold(connection, run_id, token)
            yield connection.connection.driver_connection

    def release(self, run_id: str, token: int) -> None:
        """Let any process resume the run. If that cannot be stored, at least this process can."""
        try:
            with self._database.writing() as connection:
                self._lock_run(connection, run_id, token)
                leases.release(connection, run_id)
        except LedgerError as error:
            if not isinstance(error, LostLeaseError):
                self._owners.abandoned.add((run_id, token))
            raise

    def interrupted(self) -> list[str]:
        """The runs that acquire_lease() would grant now, oldest first."""
        return list(self._read(leases.list_free, self._owners))

    def queue_interrupted(self) -> int:
        """Queue the runs that acquire_lease() would grant now, unless they are queued. Returns their number."""
        return self._run_queue.add_interrupted(self._owners)

    def record(
        self,
        run_id: str,
        *steps: Step,
        token: int,
        usage: Usage | None = None,
        seconds: float | None = None,
        usage_by_role: Mapping[str, Usage] | None = None,
        model_calls: Sequence[ModelCall] = (),
    ) -> None:
        """Add steps and the calls they made, and update the usage so far."""
        with self._database.writing() as connection:
            run = self._lock_run(connection, run_id, token)
            runs.add_steps(connection, run_id, [forget.erase_step(step, run.forgotten) for step in steps])
            calls.add(connection, run_id, forget.erase_calls(connection, run, model_calls))
            runs.set_usage(connection, run_id, usage, seconds, usage_by_role)
            self._notify(connection, run_id)

    def keep_evidence(
        self, run_id: str, passages: Sequence[Evidence], *, given: bool, token: int | None = None
    ) -> None:
        """Add or replace passages. `given` means that the writer got them; it is never reset."""
        with self._database.writing() as connection:
            run = runs.lock(connection, run_id) if token is None else self._lock_run(connection, run_id, token)
            is_erased = run.forgotten == Exposure.ALL
            if is_erased:
                passages = [evidence.hide_address(passage) for passage in passages]
            documents = {passage.document_id for passage in passages}
            forgotten = documents if is_erased else forget.find_forgotten(connection, documents, run.number)
            evidence.put(connection, run_id, passages, given, forgotten)
            if forgotten and not is_erased:
                forget.erase_run(connection, run_id, Exposure.WRITTEN if given else Exposure.RETRIEVED)
                forget.mark_scrubbed(connection, sorted(forgotten), scrubbed=False)

    def finish(self, answer: Answer, records: RunRecords | None = None, *, token: int) -> None:
        """End a run with its answer. Idempotent."""
        run_id, records = answer.run_id, records or RunRecords()
        if records.vector is not None:
            recall.require_vector(records.vector)
        with self._database.writing() as connection:
            run = self._end_run(connection, run_id, token, answer)
            if run is None:
                return
            runs.set_usage(connection, run_id, answer.usage, answer.seconds)
            if records.weak_point is not None:
                weak_points.add(connection, run_id, run.user, run.question, records.weak_point)
            if run.forgotten:
                return
            if records.observation is not None:
                observations.enqueue(connection, run_id, answer.attempt, records.observation)
            if records.recallable and answer.status in conversations.REUSABLE_STATUSES:
                recall.add(connection, run, answer.text, records.vector)
            if records.audit is not None:
                audit = approvals.add(connection, records.audit, run.user, run.conversation)
                self.inbox.announce(connection, audit, "approval.pending")
                self.inbox.notify(connection, run_id)

    def fail(
        self,
        run_id: str,
        problem: str,
        *,
        token: int,
        usage: Usage,
        seconds: float,
        usage_by_role: Mapping[str, Usage] | None = None,
        model_calls: Sequence[ModelCall] = (),
    ) -> None:
        """End a run without an answer. Idempotent."""
        with self._database.writing() as connection:
            if run := self._end_run(connection, run_id, token, None, problem):
                calls.add(connection, run_id, forget.erase_calls(connection, run, model_calls))
                runs.set_usage(connection, run_id, usage, seconds, usage_by_role)

    def stop(self, run_id: str, by: str) -> RunSummary:
        """Fail a run under way and revoke its lease. No-op for a run that ended, awaits approval or was decided."""
        by = presentable(normalize_name(by, "the user who stops a run"))
        with self._database.writing() as connection:
            run = runs.lock(connection, run_id)
            if run.status == "running" and not approvals.list_of_run(connection, run_id):
                runs.set_status(connection, run_id, "failed", f"Stopped by {by}.")
                leases.revoke(connection, run_id)
                self._notify(connection, run_id)
            return runs.get_summary(connection, run_id)

    def find(self, name: str) -> str:
        """The id of the run with this id or unique prefix, or of the newest run for "last"."""
        return self._read(runs.find_id, name)

    def runs(self, limit: int = 20, user: str | None = None, after: str = "") -> list[RunSummary]:
        """Newest first; with `after`, those that follow this run."""
        return self._read(runs.list_runs, limit, None if user is None else normalize_user(user), after)

    def recent_languages(self, limit: int) -> list[str]:
        """The languages of the newest questions, without the cases of experiments."""
        return self._read(runs.list_languages, limit)

    def runs_with_question(self, user: str, question: str, limit: int) -> list[RunSummary]:
        """The user's runs of exactly this question, newest first."""
        return self._read(runs.list_with_question, normalize_user(user), question, limit)

    def run_by_key(self, user: str, key: str) -> RunSummary | None:
        """The run that the user began with this idempotency key."""
        return self._read(runs.find_by_key, normalize_user(user), key)

    def unfinished(self) -> list[str]:
        """The runs that are running or await approval."""
        return self._read(runs.list_unfinished)

    def statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        return self._read(runs.get_statuses, run_ids)

    def summary(self, run_id: str) -> RunSummary:
        return self._read(runs.get_summary, run_id)

    def run_state(self, run_id: str) -> RunStanding | None:
        return self._read(runs.get_state, run_id)

    def parameters(self, run_id: str) -> RunParameters:
        return self._read(runs.get_parameters, run_id)

    def steps(self, run_id: str) -> list[Step]:
        return list(self._read(runs.get_steps_by_number, run_id).values())

    def evidence(self, run_id: str) -> dict[str, Evidence]:
        return self._read(evidence.get_of_run, run_id)

    def answer(self, run_id: str) -> Answer | None:
        return self._read(runs.get_answer, run_id)

    def models(self, run_id: str) -> dict[str, str]:
        return self._read(runs.get_models, run_id)

    def calls(self, run_id: str) -> list[ModelCall]:
        """The calls to models that were kept with their texts."""
        return self._read(calls.list_of_run, run_id)

    def weak_points(self, user: str, question: str, limit: int = 5) -> list[WeakPoint]:
        """The user's failed questions that ask the same, most similar first."""
        return self._read(weak_points.find_similar, normalize_user(user), question, limit)

    def suspend(self, run_id: str, token: int, approval: Approval, usage: Usage, seconds: float) -> Approval:
        """Store a draft for approval and release the run. Idempotent."""
        approval_id = normalize_name(approval.approval_id, "an approval", 1)
        if approval.run_id != run_id:
            raise InputError("The approval belongs to another run: suspend that run.")
        with self._database.writing() as connection:
            run = self._lock_run(connection, run_id, token)
            if run.status != "running":
                return approvals.get(connection, approval_id)
            stored = approvals.add(connection, approval, run.user, run.conversation)
            if stored.run_id != run_id:
                raise InputError("An approval of another run has the same id: use another id.")
            runs.set_usage(connection, run_id, usage, seconds)
            runs.set_status(connection, run_id, "awaiting_approval")
            leases.release(connection, run_id)
            if run.forgotten:  # a document was forgotten while the run was under way
                forget.erase_run(connection, run_id, run.forgotten)
            kept = approvals.get(connection, approval_id)
            if kept.state == "pending":
                self.inbox.announce(connection, kept, "approval.pending")
            self.inbox.notify(connection, run_id)
            return kept

    def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        by: str,
        reason: str = "",
        edit: str | None = None,
        draft_hash: str | None = None,
        key: str | None = None,
        queued: bool = False,
        hold: float = 0.0,
    ) -> Approval:
        """Decide a draft. The first decision counts; repeating it with the same `key` is a no-op. With `queued`, a
        worker resumes the run. The decision takes effect after `hold` seconds: until then it can be withdrawn.

        `approval_id` is a name as for approval(), but a run with several drafts is refused: the person may have read
        another draft than the pending one."""
        decision = make_decision(verdict, by, reason, edit)
        if not all(value is None or isinstance(value, str) for value in (draft_hash, key)):
            raise InputError("The draft hash and the key of a decision must be text.")
        with self._database.writing(priority=True) as connection:
            approval = approvals.find_to_decide(connection, approval_id)
            decided = self.inbox.decide(connection, approval, decision, draft_hash, key or "", hold)
            if queued:
                self._run_queue.add_decided(connection, decided, hold)
            return decided

    def decision(self, run_id: str, attempt: int) -> Decision | None:
        """The decision on this attempt of the run."""
        of_attempt = [approval for approval in self.approvals_of(run_id) if approval.attempt == attempt]
        return next((approval.decision for approval in reversed(of_attempt) if approval.decision), None)

    def approval(self, name: str) -> Approval:
        """Finds an approval by its id, its run's id (the run's newest), a prefix, or "last" (the newest pending)."""
        return self._read(approvals.find, name)

    def approvals(
        self, limit: int = 100, user: str | None = None, state: str = "pending", after: str = ""
    ) -> list[Approval]:
        """Pending ones oldest first; others, or "any", newest first. With `after`, those that follow this approval."""
        if state not in STATES:
            raise InputError(f'The state must be one of {", ".join(STATES)}, not "{presentable(str(state))}".')
        user = None if user is None else normalize_user(user)
        return self._read(approvals.list_approvals, limit, user, None if state == ANY_STATE else state, after)

    def approvals_of(self, run_id: str) -> list[Approval]:
        """Oldest first."""
        return self._read(approvals.list_of_run, run_id)

    def approval_states(self, limit: int = 200) -> list[ApprovalStanding]:
        """Most recently changed first. Cheap enough to poll every second."""
        return self._read(approvals.list_latest_states, limit) if self._database.exists else []

    def pending_runs(self) -> list[str]:
        """The runs that await approval and used no forgotten text, oldest first."""
        return self._read(runs.list_pending)

    def pending_count(self, user: str | None = None) -> int:
        return self._read(approvals.count_pending, user)

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        """The summary and the turns after it; with `before_run`, only turns before this run."""
        names = normalize_user(user), normalize_conversation(conversation)
        return self._read(conversations.get_memory, *names, before_run)

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """Store a summary of the turns up to number `folded`. No-op if the stored one covers as many."""
        names = normalize_user(user), normalize_conversation(conversation)
        with self._database.writing() as connection:
            conversations.set_summary(connection, *names, summary, folded)

    def past_turns(
        self, user: str, conversation: str | None, query: str, vector: bytes | None, limit: int, exclude_run: str = ""
    ) -> list[PastTurn]:
        """Earlier answers that match the query, best first. Without a conversation, searches all of the user's runs.
        `vector` is the query's embedding (float32 bytes)."""
        user = normalize_user(user)
        conversation = None if conversation is None else normalize_conversation(conversation)
        if vector is not None:
            recall.require_vector(vector)
        return self._read(recall.find_turns, user, conversation, query, vector, limit, exclude_run)

    def conversations(self, user: str, limit: int = 20, query: str = "", after: str = "") -> list[ConversationSummary]:
        """Pinned ones first, then the newest turn first. With a query, only those whose title or a turn contains all
        its words."""
        return self._read(conversations.list_conversations, normalize_user(user), limit, query, after)

    def conversation(self, user: str, conversation: str) -> ConversationSummary:
        """Raises `NotFoundError`."""
        return self._read(conversations.get_summary, normalize_user(user), normalize_conversation(conversation))

    def describe_conversation(
        self, user: str, conversation: str, *, title: str | None = None, pinned: bool | None = None
    ) -> ConversationSummary:
        """Rename or pin a conversation; what is None stays. Without a title, its first question is shown again."""
        names = normalize_user(user), normalize_conversation(conversation)
        title = None if title is None else normalize_name(title.strip(), "a conversation")
        with self._database.writing() as connection:
            conversations.describe(connection, *names, title, pinned)
            return conversations.get_summary(connection, *names)

    def turns(
        self, user: str, conversation: str, limit: int = 50, *, for_display: bool = False, before: int | None = None
    ) -> list[PastTurn]:
        """The newest turns, or those just before turn `before`, oldest first. Answers that must not be reused are
        empty; with `for_display`, only those that were never released."""
        names = normalize_user(user), normalize_conversation(conversation)
        return self._read(conversations.list_turns, *names, limit, for_display=for_display, before=before)

    def rate(self, run_id: str, thumb: Thumb, *, by: str, why: str = "") -> Feedback:
        """Rate an answer. Replaces this person's earlier rating and undoes its effects."""
        given = rating.make_rating(run_id, thumb, by, why)
        with self._database.writing() as connection:
            return rating.rate(connection, given)

    def feedback(self, run_id: str) -> list[Feedback]:
        """The ratings of all persons, oldest first."""
        return self._read(feedback.list_of_run, run_id)

    def latest_feedback(self, limit: int) -> list[Feedback]:
        """The ratings of all runs, newest first."""
        return self._read(feedback.list_latest, limit)

    def deliver(self, file: Observations) -> int:
        """Write outstanding observations to the file and finish interrupted forgetting. Returns the number written."""
        if not self._database.exists:
            return 0
        written = observations.deliver(self._database, file, shared=self._is_shared)
        if time.monotonic() >= self._next_scrub and (unscrubbed := self._read(forget.list_unscrubbed)):
            # Other readers of a shared database may delay it for long.
            self._next_scrub = time.monotonic() + SCRUB_SECONDS if self._is_shared else 0.0
            self._scrub(unscrubbed, None)
        return written

    def forget_documents(self, document_ids: Sequence[str], file: Observations | None = None) -> None:
        """Erase what comes from these documents. Without `file`, and after a kill, the next deliver() does the rest."""
        if not document_ids or not self._database.exists:
            return
        with self._database.writing(exclusive=True) as connection:
            forget.forget_documents(connection, document_ids)
            self.ingestions.forget(connection, document_ids)
            upload_lists.forget(connection, document_ids)
            example_rows.forget(connection, document_ids)
        self._scrub(document_ids, file)

    def forget_conversation(self, user: str, conversation: str, file: Observations | None = None) -> int:
        """Erase a conversation, in all files, and revoke the leases of its runs. Returns its number of turns."""
        user, conversation = normalize_user(user), normalize_conversation(conversation)
        turns = self.turns(user, conversation, MAX_TURNS)
        if not turns:
            raise NotFoundError(f'There is no conversation "{presentable(conversation)}".')
        with self.journal.forgetting() as record:
            record("conversation", [name_conversation(user, conversation)])
            try:  # first, because after a kill the erased rows could not name the questions again
                forget.erase_chat_history(self._folder, (turn.question for turn in turns))
            finally:
                with self._database.writing(exclusive=True) as connection:
                    run_ids = forget.forget_conversation(connection, user, conversation)
                self._scrub([forget.document_id_of(run_id) for run_id in run_ids], file)
        return len(run_ids)

    def prune(self, cutoffs: Cutoffs, file: Observations, *, dry_run: bool = False, stop: Stop = NEVER) -> Pruned:
        """Remove what has expired, some hundred runs per transaction, or count it with `dry_run`."""
        if not self._database.exists:
            return Pruned(dry_run=dry_run)
        if dry_run:
            return self._read(prune.preview, cutoffs)
        return prune.prune(self._database, self._folder, cutoffs, file, stop)

    def scrub_progress(self) -> None:
        """Erase checkpoints, which may contain forgotten texts. Runs that await approval and used none keep theirs."""
        self._database.erase_checkpoints(self.pending_runs())

    def _register(self) -> str:
        owner = self._owners.register()
        self._renewal.start()
        return owner

    def _renew(self) -> None:
        owner = self._owners.check()
        former_names = set(self._owners.former_names)
        with self._database.writing() as connection:
            leases.renew(connection, owner, former_names)
            self.membership.renew(connection, owner, former_names)
        self._owners.former_names.difference_update(former_names)

    def _notify(self, connection: Connection, run_id: str) -> None:
        """Tell followers of the run when the transaction commits."""
        self._database.notify(connection, LedgerChange(kind="run", run_id=run_id))

    def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._database.reading() as connection:
            return query(connection, *args, **kwargs)

    def _lock_run(self, connection: Connection, run_id: str, token: int) -> LockedRun:
        run = runs.lock(connection, run_id)
        leases.require(connection, run_id, token)
        return run

    def _end_run(
        self, connection: Connection, run_id: str, token: int, answer: Answer | None, problem: str = ""
    ) -> LockedRun | None:
        """The run with its final exposure to forgotten texts, or None if it had ended before."""
        run = self._lock_run(connection, run_id, token)
        if run.status != "running":
            return None
        blank_ids = evidence.list_blank_ids(connection, run_id)
        exposure = forget.measure_exposure(answer, run.forgotten, blank_ids)
        if exposure > run.forgotten:
            forget.erase_run(connection, run_id, exposure)
        if answer is not None:
            kept = forget.erase_answer(answer, exposure, blank_ids, with_history=True) if exposure else answer
            runs.set_answer(connection, run_id, kept)
        status: RunStatus = "failed" if answer is None else answer.status
        runs.set_status(connection, run_id, status, ERASED_TEXT if problem and exposure else problem)
        leases.release(connection, run_id)
        approvals.supersede(connection, run_id)
        if run.conversation:
            conversations.refresh_summary(connection, run.user, run.conversation, run.turn)
        self.inbox.notify(connection, run_id)
        return run._replace(forgotten=exposure)

    def _scrub(self, document_ids: Sequence[str], file: Observations | None) -> None:
        """Remove erased texts from all files."""
        if file is not None:
            observations.deliver(self._database, file, shared=self._is_shared)
        self._database.scrub()
        self.scrub_progress()
        with self._database.writing() as connection:
            forget.mark_scrubbed(connection, document_ids)
