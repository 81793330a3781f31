"""Asking: a run from its question to its answer, begun, followed, left and taken up again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from veracity.assembly import Assembly
from veracity.errors import InputError, LedgerError, NotFoundError
from veracity.inputs import (
    MOST_RUNS,
    checked_question,
    require_number,
    require_text,
)
from veracity.models import (
    LOCAL,
    Answer,
    RunEvent,
    RunProgress,
    RunStanding,
    RunSummary,
)
from veracity.providers.texts import encodable
from veracity.secrets import presentable


class Asking(Assembly):
    """A part of Veracity."""

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


def answer_of(events: Iterable[RunEvent]) -> Answer:
    *_, last = events
    if last.answer is None:
        raise AssertionError("a run ends with an answer or an error")
    return last.answer
