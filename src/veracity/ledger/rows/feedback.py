"""Rows of feedback: one rating per person and run."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select, update

from veracity.ledger.tables import feedback, runs
from veracity.models import Feedback


def put(connection: Connection, new: Feedback) -> Feedback:
    """Replaces this person's earlier rating. Returns the stored one."""
    own = (feedback.c.run_id == new.run_id) & (feedback.c.user_name == new.by)
    values = {"thumb": new.thumb, "why": new.why, "at": new.at}
    if not connection.execute(update(feedback).where(own).values(values)).rowcount:
        connection.execute(insert(feedback), {"run_id": new.run_id, "user_name": new.by, **values})
    return next(rating for rating in list_of_run(connection, new.run_id) if rating.by == new.by)


def list_of_run(connection: Connection, run_id: str) -> list[Feedback]:
    query = select(feedback).where(feedback.c.run_id == run_id).order_by(feedback.c.at, feedback.c.user_name)
    return [Feedback.model_validate({**row, "by": row["user_name"]}) for row in connection.execute(query).mappings()]


def list_latest(connection: Connection, limit: int) -> list[Feedback]:
    """Newest first."""
    rows = connection.execute(select(feedback).order_by(feedback.c.at.desc()).limit(limit)).mappings()
    return [Feedback.model_validate({**row, "by": row["user_name"]}) for row in rows]


def has_dislike() -> ColumnElement[bool]:
    """A condition on a row of `runs`: at least one thumb down."""
    return exists().where((feedback.c.run_id == runs.c.run_id) & (feedback.c.thumb == "down")).correlate(runs)


def is_disliked(connection: Connection, run_id: str) -> bool:
    downs = select(feedback.c.run_id).where((feedback.c.run_id == run_id) & (feedback.c.thumb == "down"))
    return connection.execute(downs.limit(1)).first() is not None


def erase_reasons(connection: Connection, run_id: str) -> None:
    connection.execute(update(feedback).where(feedback.c.run_id == run_id).values(why=""))


def remove(connection: Connection, run_id: str) -> None:
    connection.execute(delete(feedback).where(feedback.c.run_id == run_id))
