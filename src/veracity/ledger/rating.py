"""Rating answers: what a thumb changes besides its row. A disliked answer is a weak point, and is not reused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from sqlalchemy import Connection

from veracity.errors import InputError
from veracity.ledger import observations
from veracity.ledger.forget import Exposure
from veracity.ledger.rows import conversations, feedback, runs, weak_points
from veracity.ledger.rows.runs import LockedRun
from veracity.ledger.tables import normalize_name, require_short_reason
from veracity.models import Feedback, Thumb
from veracity.secrets import presentable

_NOT_RATABLE = {"running": "is still running", "awaiting_approval": "awaits approval", "failed": "has no answer"}


def make_rating(run_id: str, thumb: Thumb, by: str, why: str) -> Feedback:
    """A rating of now. Raises `InputError` if the thumb is unknown or the reason is too long."""
    if thumb not in get_args(Thumb):
        raise InputError(f'The rating must be "up" or "down", not "{presentable(str(thumb))}".')
    require_short_reason(why)
    by = normalize_name(by, "the person who rates")
    return Feedback(run_id=run_id, by=by, thumb=thumb, why=why.strip(), at=datetime.now(UTC))


def rate(connection: Connection, rating: Feedback) -> Feedback:
    """Replaces this person's earlier rating and undoes its effects. Returns the stored one.

    Raises `InputError` if the run has no answer that can be rated.
    """
    run = runs.lock(connection, rating.run_id)
    _require_ratable(run, rating.run_id)
    was_disliked = feedback.is_disliked(connection, rating.run_id)
    stored = feedback.put(connection, rating)
    if feedback.is_disliked(connection, rating.run_id) != was_disliked:
        _apply(connection, rating.run_id, run, is_disliked=not was_disliked)
    return stored


def _require_ratable(run: LockedRun, run_id: str) -> None:
    if run.status in _NOT_RATABLE:
        message = f'The run "{presentable(run_id)}" {_NOT_RATABLE[run.status]}: only answers can be rated.'
        raise InputError(message, "not_ratable")
    if run.forgotten >= Exposure.WRITTEN:
        message = f'The answer of run "{presentable(run_id)}" was forgotten: it can no longer be rated.'
        raise InputError(message, "not_ratable")


def _apply(connection: Connection, run_id: str, run: LockedRun, *, is_disliked: bool) -> None:
    """Apply the first thumb down, or undo it after the last one was taken back."""
    if is_disliked:
        if run.status in conversations.REUSABLE_STATUSES:
            weak_points.add(connection, run_id, run.user, run.question, "disliked")
        observations.withdraw(connection, run_id)
    else:
        weak_points.remove(connection, run_id, "disliked")
        answer = None if run.forgotten else runs.get_answer(connection, run_id)
        if answer and (record := observations.make_observation(answer, runs.get_models(connection, run_id))):
            observations.enqueue_again(connection, run_id, answer.attempt, record)
    if run.conversation:  # the summary contains the answer, or must contain it now
        conversations.refresh_summary(connection, run.user, run.conversation, run.turn)
