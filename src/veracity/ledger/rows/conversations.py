"""The rows of conversations: their turns, which are runs, and the summary of the older ones (SPEC D2).

Another user's conversation of the same name is another one. Knows nothing about how turns are summed up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, select, update

from veracity.ledger.rows.feedback import is_disliked
from veracity.ledger.tables import conversations, runs
from veracity.models import ConversationSummary, PastTurn, Remembered

USABLE = ("answered", "abstained")  # an answer of another status is not used again
UNPROVEN = ("failed", "not_reviewed")  # nor is one that comes out of its review so, unless a person approved it
TURN: Select[Any] = select(
    runs.c.number,
    runs.c.run_id,
    runs.c.turn,
    runs.c.question,
    runs.c.status,
    runs.c.started,
    runs.c.answer,
    is_disliked().label("disliked"),
)


def next_turn(connection: Connection, user: str, conversation: str) -> int:
    theirs = _row_of(user, conversation)
    last = connection.execute(select(conversations.c.last_turn).where(theirs).with_for_update()).scalar()
    if last is None:
        whose = {"user_name": user, "conversation": conversation}
        fresh = {"last_turn": 1, "summary": "", "folded": 0, "emptied_at": 0}
        connection.execute(insert(conversations), {**whose, **fresh})
        return 1
    connection.execute(update(conversations).where(theirs).values(last_turn=last + 1))
    return int(last) + 1


def remembered(connection: Connection, user: str, conversation: str, before_run: str | None) -> Remembered:
    wanted = select(conversations.c.summary, conversations.c.folded)
    summary, folded = connection.execute(wanted.where(_row_of(user, conversation))).one_or_none() or ("", 0)
    theirs = _of(user, conversation) & (runs.c.turn > folded)
    if before_run is not None:
        own = connection.execute(select(runs.c.turn).where(_of(user, conversation) & (runs.c.run_id == before_run)))
        theirs &= runs.c.turn < (own.scalar() or 0)
    rows = connection.execute(TURN.where(theirs).order_by(runs.c.turn))
    return Remembered(summary=summary, folded=folded, turns=[past_turn(row) for row in rows])


def keep_summary(connection: Connection, user: str, conversation: str, summary: str, folded: int) -> None:
    """Only ever forward. Not by a run that began before something was forgotten: it may have read it."""
    theirs = _row_of(user, conversation)
    emptied_at = connection.execute(select(conversations.c.emptied_at).where(theirs)).scalar() or 0
    too_old = _of(user, conversation) & (runs.c.status == "running") & (runs.c.number <= emptied_at)
    if connection.execute(select(runs.c.number).where(too_old).limit(1)).first() is None:
        forward = theirs & (conversations.c.folded < folded) & (conversations.c.last_turn >= folded)
        connection.execute(update(conversations).where(forward).values(summary=summary, folded=folded))


def empty_summary(connection: Connection, user: str, conversation: str) -> None:
    newest = connection.execute(select(func.max(runs.c.number))).scalar() or 0
    nothing = {"summary": "", "folded": 0, "emptied_at": newest}
    connection.execute(update(conversations).where(_row_of(user, conversation)).values(nothing))


def unfold(connection: Connection, user: str, conversation: str, turn: int) -> None:
    """A turn has come to its end that was summed up while it waited: the summary is made anew."""
    folded = select(conversations.c.folded).where(_row_of(user, conversation))
    if (connection.execute(folded).scalar() or 0) >= turn:
        empty_summary(connection, user, conversation)


def listed(connection: Connection, user: str, limit: int | None, after: str = "") -> list[ConversationSummary]:
    """That with the newest turn first. All of them without a limit. With `after`, those that follow this one."""
    seen = select(func.max(runs.c.number)).where(_of(user, after)).scalar_subquery()
    newest = func.max(runs.c.number)
    grouped = (
        select(
            runs.c.conversation,
            func.min(runs.c.turn).label("first"),
            func.count().label("turns"),
            func.min(runs.c.started).label("started"),
            func.max(runs.c.started).label("last"),
            newest.label("newest"),
        )
        .where((runs.c.user_name == user) & (runs.c.conversation != ""))
        .group_by(runs.c.conversation)
        .having(newest < seen if after else newest > 0)
        .order_by(newest.desc())
        .limit(limit)
        .subquery()
    )
    first = and_(
        runs.c.user_name == user, runs.c.conversation == grouped.c.conversation, runs.c.turn == grouped.c.first
    )
    wanted = select(grouped, runs.c.question).join(runs, first).order_by(grouped.c.newest.desc())
    return [
        ConversationSummary(
            conversation=row.conversation,
            user=user,
            title=row.question,
            turns=row.turns,
            started=row.started,
            last=row.last,
        )
        for row in connection.execute(wanted)
    ]


def turns(
    connection: Connection, user: str, conversation: str, limit: int, *, to_show: bool, before: int | None = None
) -> list[PastTurn]:
    """The newest, or those just before the turn of this number, in the order in which they were asked. `to_show`: with
    every answer that went out, for people."""
    wanted = TURN.where(_of(user, conversation)).order_by(runs.c.turn.desc()).limit(limit)
    if before is not None:
        wanted = wanted.where(runs.c.turn < before)
    return [past_turn(row, to_show=to_show) for row in connection.execute(wanted)][::-1]


def run_ids(
    connection: Connection, user: str, conversation: str, after: int = 0, before: int | None = None
) -> list[str]:
    """Of the turns between these, in order."""
    theirs = _of(user, conversation) & (runs.c.turn > after)
    if before is not None:
        theirs &= runs.c.turn < before
    return list(connection.execute(select(runs.c.run_id).where(theirs).order_by(runs.c.turn)).scalars())


def remove(connection: Connection, user: str, conversation: str, run_ids: Sequence[str]) -> None:
    """Its name, its summary and its questions. The runs stay, as turns of nothing."""
    connection.execute(delete(conversations).where(_row_of(user, conversation)))
    for run_id in run_ids:
        nothing = {"question": "", "conversation": "", "turn": 0, "request_key": None}
        connection.execute(update(runs).where(runs.c.run_id == run_id).values(nothing))


def past_turn(row: Row[Any], similarity: float = 0.0, *, to_show: bool = False) -> PastTurn:
    return PastTurn(
        run_id=row.run_id,
        number=row.turn,
        question=row.question,
        answer=row.answer["text"] if is_usable(row) or (to_show and _went_out(row)) else "",
        asked=row.started,
        similarity=similarity,
        status=row.status,
    )


def is_usable(row: Row[Any]) -> bool:
    """Whether its answer may be shown to a model again: it stood, or a person approved it, and nobody dislikes it."""
    if not _went_out(row) or row.disliked:
        return False
    outcome = (row.answer.get("review") or {}).get("outcome")
    return outcome not in UNPROVEN or any(one["verdict"] == "approve" for one in row.answer.get("decisions", ()))


def _went_out(row: Row[Any]) -> bool:
    return row.status in USABLE and row.answer is not None


def _of(user: str, conversation: str) -> Any:
    return and_(runs.c.user_name == user, runs.c.conversation == conversation, runs.c.turn > 0)


def _row_of(user: str, conversation: str) -> Any:
    return and_(conversations.c.user_name == user, conversations.c.conversation == conversation)
