"""Weak points (SPEC C3): questions of a user that failed review, scored low or were rejected, or whose answer somebody
disliked.

They are found by the words of a new question, at a cost that does not grow with their number. What failed is never kept
here: only the question, and by its run the passages the writer had. Knows nothing about how they are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, insert, select

from veracity.ledger import passages
from veracity.ledger.likeness import NEWEST_PER_TERM, Likeness, newest_holding, terms
from veracity.ledger.schema import weak_points, weak_terms

_NEWEST = (  # built once: building it costs more than asking it
    select(weak_terms.c.weak_point)
    .where((weak_terms.c.user_name == bindparam("user")) & (weak_terms.c.term == bindparam("word")))
    .order_by(weak_terms.c.weak_point.desc())
    .limit(NEWEST_PER_TERM)
)


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """`passage_ids` are of what was found then, the writer's first; `similarity` is to the question asked now."""

    question: str
    reason: str
    run_id: str
    created: datetime
    passage_ids: tuple[str, ...]
    similarity: float


def add(connection: Connection, run_id: str, user: str, question: str, reason: str) -> None:
    values = {"run_id": run_id, "user_name": user, "question": question, "reason": reason, "created": datetime.now(UTC)}
    (number,) = connection.execute(insert(weak_points).values(values).returning(weak_points.c.number)).one()
    rows = [{"user_name": user, "term": term, "weak_point": number} for term in terms(question)]
    if rows:
        connection.execute(insert(weak_terms), rows)


def add_once(connection: Connection, run_id: str, user: str, question: str, reason: str) -> None:
    """A run that is one already stays one, for the reason it was."""
    if connection.execute(select(weak_points.c.number).where(weak_points.c.run_id == run_id)).first() is None:
        add(connection, run_id, user, question, reason)


def remove(connection: Connection, run_id: str, reason: str | None = None) -> None:
    """With a `reason`, only if that is what made it one."""
    its = weak_points.c.run_id == run_id
    if reason is not None:
        its &= weak_points.c.reason == reason
    theirs = select(weak_points.c.number).where(its)
    connection.execute(delete(weak_terms).where(weak_terms.c.weak_point.in_(theirs)))
    connection.execute(delete(weak_points).where(its))


def matching(connection: Connection, user: str, question: str, limit: int) -> list[WeakPoint]:
    """Those of this user that ask the same as this question: the most similar first, then the newest."""
    likeness = Likeness(question)
    candidates = newest_holding(connection, _NEWEST, {"user": user}, likeness.terms)
    if not candidates:
        return []
    theirs = weak_points.c.number.in_(candidates) & (weak_points.c.user_name == user)
    rows = connection.execute(select(weak_points).where(theirs).order_by(weak_points.c.number.desc())).all()
    scored = [(likeness.to(row.question), row) for row in rows]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    given = passages.remembered_ids(connection, [row.run_id for _, row in best])
    return [
        WeakPoint(row.question, row.reason, row.run_id, row.created, given.get(row.run_id, ()), similarity)
        for similarity, row in best
    ]
