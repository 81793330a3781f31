"""The ledger's methods for what people say of answers (SPEC C3, D4).

A thumb down makes the question a weak point of whoever asked it, keeps the answer from being used again, and takes it
out of the observations, as long as somebody leaves it down. Knows nothing about who may say something.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from sqlalchemy import Connection

from veracity.errors import InputError
from veracity.ledger import conversations, feedback, outbox, runs, stripping, weakpoints
from veracity.ledger.database import Database
from veracity.ledger.learning import observation
from veracity.ledger.names import rater_name
from veracity.models import Feedback, Thumb
from veracity.secrets import presentable

LONGEST_WHY = 2000  # characters
DISLIKED = "disliked"
_UNFIT = {
    "running": "is still under way",
    "awaiting_approval": "still waits for a person",
    "failed": "has no answer",
}


class Rating:
    """A part of Ledger. Each call is one transaction."""

    _database: Database

    def rate(self, run_id: str, thumb: Thumb, *, by: str, why: str = "") -> Feedback:
        """What this person said of the answer before is replaced, and what followed from it undone."""
        if thumb not in get_args(Thumb):
            raise InputError(f'An answer is rated "up" or "down", not "{presentable(str(thumb))}".')
        if len(why) > LONGEST_WHY:
            raise InputError(f"The reason has {len(why):,} characters: at most {LONGEST_WHY:,} are kept.")
        given = Feedback(run_id=run_id, by=rater_name(by), thumb=thumb, why=why.strip(), at=datetime.now(UTC))
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            _require_answer(run, run_id)
            was_disliked = feedback.disliked(connection, run_id)
            kept = feedback.put(connection, given)
            if feedback.disliked(connection, run_id) != was_disliked:
                _turn(connection, run_id, run, is_disliked=not was_disliked)
            return kept

    def feedback(self, run_id: str) -> list[Feedback]:
        """Of everyone who said something, the latest last."""
        with self._database.reading() as connection:
            return feedback.of_run(connection, run_id)


def _require_answer(run: runs.HeldRun, run_id: str) -> None:
    if run.status in _UNFIT:
        raise InputError(f'The run "{presentable(run_id)}" {_UNFIT[run.status]}: only an answer can be rated.')
    if run.forgotten >= stripping.GIVEN:
        raise InputError(f'The answer of the run "{presentable(run_id)}" was forgotten: it cannot be rated any more.')


def _turn(connection: Connection, run_id: str, run: runs.HeldRun, *, is_disliked: bool) -> None:
    """What a first thumb down leads to, and the last one that is taken back. A summary may hold the answer, or lack
    it, and is made anew."""
    if run.status in conversations.USABLE and is_disliked:
        weakpoints.add_once(connection, run_id, run.user, run.question, DISLIKED)
    if is_disliked:
        outbox.withdraw(connection, run_id)
    else:
        weakpoints.remove(connection, run_id, DISLIKED)
        _observe_again(connection, run_id, run)
    if run.conversation:
        conversations.unfold(connection, run.user, run.conversation, run.turn)


def _observe_again(connection: Connection, run_id: str, run: runs.HeldRun) -> None:
    answer = runs.answer_of(connection, run_id)
    if answer is None or run.forgotten:
        return
    if record := observation(answer, runs.models_of(connection, run_id)):
        outbox.put_back(connection, run_id, answer.attempt, record)
