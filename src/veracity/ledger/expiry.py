"""Which runs have expired (settings `retention`).

A run that is under way, waits for a decision, or was decided and not resumed never expires. A run that waited expires
some days after its decision. An answer that another run uses as evidence expires together with that run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, FromClause, and_, exists, or_, select

from veracity.ledger.forget import document_id_of
from veracity.ledger.tables import approvals, evidence, model_calls, runs, steps

UNFINISHED = ("running", "awaiting_approval")


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """What is older has expired. None: never."""

    runs: datetime | None = None
    receipts: datetime | None = None
    conversations: datetime | None = None

    @classmethod
    def of(cls, now: datetime | None = None, **days: int | None) -> Cutoffs:
        """From numbers of days before `now`."""
        now = now or datetime.now(UTC)
        return cls(**{name: None if age is None else now - timedelta(days=age) for name, age in days.items()})


class ExpiredRun(NamedTuple):
    run_id: str
    number: int
    user: str
    conversation: str
    turn: int
    started: datetime


_RUN = select(runs.c.run_id, runs.c.number, runs.c.user_name, runs.c.conversation, runs.c.turn, runs.c.started)


def find_runs(connection: Connection, cutoffs: Cutoffs, among: Sequence[str] | None = None) -> list[ExpiredRun]:
    """The runs to remove, newest first, so that a run comes before those whose answers it uses."""
    conditions = []
    if cutoffs.runs is not None:
        conditions.append(_is_old(runs, cutoffs.runs))
    if cutoffs.conversations is not None:
        conditions.append(_is_in_old_conversation(cutoffs.conversations))
    if not conditions:
        return []
    is_expired = or_(*conditions)
    if among is not None:
        is_expired &= runs.c.run_id.in_(among)
    rows = connection.execute(_RUN.where(is_expired).order_by(runs.c.number.desc()))
    expired = {row.run_id: ExpiredRun._make(row) for row in rows}
    is_answer = evidence.c.document_id == document_id_of("") + runs.c.run_id
    uses = connection.execute(select(evidence.c.run_id, runs.c.run_id).join(runs, is_answer).where(is_expired))
    _drop_used(expired, ((user, used) for user, used in uses))
    return list(expired.values())


def find_receipts(
    connection: Connection, before: datetime | None, limit: int | None = None
) -> list[tuple[str, datetime]]:
    """The ids and times of the runs whose receipts have details to remove, oldest first."""
    if before is None:
        return []
    details = (exists().where(table.c.run_id == runs.c.run_id).correlate(runs) for table in (steps, model_calls))
    query = select(runs.c.run_id, runs.c.started).where(_is_old(runs, before) & or_(*details))
    return [(row.run_id, row.started) for row in connection.execute(query.order_by(runs.c.number).limit(limit))]


def _is_old(table: FromClause, before: datetime) -> Any:
    """A condition on a row of `runs`: the run ended, and it began and was decided before this moment. An audit keeps it
    until it is decided: the hard ones must not be the first to go."""
    is_recent = or_(approvals.c.state == "pending", approvals.c.decided_at >= before)
    decided = exists().where((approvals.c.run_id == table.c.run_id) & is_recent).correlate(table)
    return and_(table.c.status.not_in(UNFINISHED), table.c.started < before, ~decided)


def _is_in_old_conversation(before: datetime) -> Any:
    """A condition on a row of `runs`: it is a turn of a conversation whose turns are all old."""
    turn = runs.alias("turn")
    is_same = and_(turn.c.user_name == runs.c.user_name, turn.c.conversation == runs.c.conversation)
    is_active = exists().where(is_same & ~_is_old(turn, before)).correlate(runs)
    return (runs.c.conversation != "") & (runs.c.started < before) & ~is_active


def _drop_used(expired: dict[str, ExpiredRun], uses: Iterable[tuple[str, str]]) -> None:
    """Drop each run whose answer a kept run uses, and those that it uses itself."""
    used_by: defaultdict[str, list[str]] = defaultdict(list)
    kept = []
    for user, used in uses:
        if user in expired:
            used_by[user].append(used)
        else:
            kept.append(used)
    while kept:
        run_id = kept.pop()
        if expired.pop(run_id, None) is not None:
            kept += used_by[run_id]
