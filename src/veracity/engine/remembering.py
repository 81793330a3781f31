"""What was asked, answered and said of it: runs and receipts, conversations, people and their opinions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veracity.assembly import Assembly
from veracity.inputs import (
    LONGEST_QUERY,
    MOST_RUNS,
    MOST_TURNS,
    require_number,
    require_text,
)
from veracity.models import (
    LOCAL,
    ConversationSummary,
    Feedback,
    PastTurn,
    Receipt,
    RunStatus,
    RunSummary,
    Thumb,
)
from veracity.providers.texts import encodable

if TYPE_CHECKING:
    from veracity.ledger import Users


class Remembering(Assembly):
    """A part of Veracity."""

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
