"""The rows of what people say of answers: one of each person for each run. Knows nothing about what follows from it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select, update

from veracity.ledger.tables import feedback, runs
from veracity.models import Feedback


def put(connection: Connection, given: Feedback) -> Feedback:
    """In the place of what this person said before. What is kept is returned."""
    own = (feedback.c.run_id == given.run_id) & (feedback.c.user_name == given.by)
    values = {"thumb": given.thumb, "why": given.why, "at": given.at}
    if not connection.execute(update(feedback).where(own).values(values)).rowcount:
        connection.execute(insert(feedback), {"run_id": given.run_id, "user_name": given.by, **values})
    return next(one for one in of_run(connection, given.run_id) if one.by == given.by)


def of_run(connection: Connection, run_id: str) -> list[Feedback]:
    """The latest last."""
    theirs = select(feedback).where(feedback.c.run_id == run_id).order_by(feedback.c.at, feedback.c.user_name)
    return [
        Feedback(run_id=row.run_id, by=row.user_name, thumb=row.thumb, why=row.why, at=row.at)
        for row in connection.execute(theirs)
    ]


def is_disliked() -> ColumnElement[bool]:
    """Of a row of `runs`: whether somebody turned the thumb down and left it so."""
    return exists(_downs().where(feedback.c.run_id == runs.c.run_id).correlate(runs))


def disliked(connection: Connection, run_id: str) -> bool:
    return connection.execute(_downs().where(feedback.c.run_id == run_id).limit(1)).first() is not None


def mute(connection: Connection, run_id: str) -> None:
    """Why somebody says so may quote."""
    connection.execute(update(feedback).where(feedback.c.run_id == run_id).values(why=""))


def remove(connection: Connection, run_id: str) -> None:
    connection.execute(delete(feedback).where(feedback.c.run_id == run_id))


def _downs() -> Any:
    return select(feedback.c.run_id).where(feedback.c.thumb == "down")
