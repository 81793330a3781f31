"""Rows of conversations: their title, and the summary of older turns (SPEC D2). The turns themselves are runs.

A conversation belongs to its user: two users can have conversations of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, delete, func, literal, select, tuple_, update

from veracity.errors import NotFoundError
from veracity.language import normalized
from veracity.ledger.rows.feedback import has_dislike
from veracity.ledger.rows.runs import examined_columns, get_examined
from veracity.ledger.tables import conversations, runs
from veracity.models import ConversationSummary, PastTurn, Remembered
from veracity.secrets import presentable

REUSABLE_STATUSES = ("answered", "abstained")
UNPROVEN_OUTCOMES = ("failed", "not_reviewed")  # of a review: not reused unless a person approved the answer
MAX_QUERY_WORDS = 20
TURN: Select[Any] = select(
    *(runs.c[name] for name in ("number", "run_id", "turn", "question", "status", "started", "answer")),
    has_dislike().label("disliked"),
)
_RUNS_AND_CONVERSATIONS = runs.outerjoin(
    conversations,
    and_(conversations.c.user_name == runs.c.user_name, conversations.c.conversation == runs.c.conversation),
)
_IS_PINNED = func.max(case((conversations.c.pinned.is_not(None), 1), else_=0))
_NEWEST = func.max(runs.c.number)
_NEEDIEST = func.coalesce(func.max(case((runs.c.status == "awaiting_approval", runs.c.number))), _NEWEST)
_LATIN = "[0-9a-z\u00df-\u024f]"


def next_turn(connection: Connection, user: str, conversation: str) -> int:
    """Reserves the number of a new turn, and creates the conversation if necessary."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # the other one takes long to import
    new = {"last_turn": 1, "summary": "", "folded": 0, "emptied_at": 0}
    added = dialect.insert(conversations).values(user_name=user, conversation=conversation, **new)
    upsert = added.on_conflict_do_update(
        index_elements=[conversations.c.user_name, conversations.c.conversation],
        set_={"last_turn": conversations.c.last_turn + 1},
    )
    return int(connection.execute(upsert.returning(conversations.c.last_turn)).scalar_one())


def get_memory(connection: Connection, user: str, conversation: str, before_run: str | None) -> Remembered:
    columns = select(conversations.c.summary, conversations.c.folded)
    summary, folded = connection.execute(columns.where(_is_conversation(user, conversation))).one_or_none() or ("", 0)
    condition = _is_turn(user, conversation) & (runs.c.turn > folded)
    if before_run is not None:
        own = connection.execute(select(runs.c.turn).where(_is_turn(user, conversation), runs.c.run_id == before_run))
        condition &= runs.c.turn < (own.scalar() or 0)
    rows = connection.execute(TURN.where(condition).order_by(runs.c.turn))
    return Remembered(summary=summary, folded=folded, turns=[past_turn(row) for row in rows])


def set_summary(connection: Connection, user: str, conversation: str, summary: str, folded: int) -> None:
    """No-op if the stored summary covers as many turns, or if a run is under way that may have read forgotten texts."""
    own = _is_conversation(user, conversation)
    emptied_at = connection.execute(select(conversations.c.emptied_at).where(own).with_for_update()).scalar() or 0
    stale = _is_turn(user, conversation) & (runs.c.status == "running") & (runs.c.number <= emptied_at)
    if connection.execute(select(runs.c.number).where(stale).limit(1)).first() is None:
        longer = own & (conversations.c.folded < folded) & (conversations.c.last_turn >= folded)
        connection.execute(update(conversations).where(longer).values(summary=summary, folded=folded))


def empty_summary(connection: Connection, user: str, conversation: str) -> None:
    newest = connection.execute(select(func.max(runs.c.number))).scalar() or 0
    values = {"summary": "", "folded": 0, "emptied_at": newest}
    connection.execute(update(conversations).where(_is_conversation(user, conversation)).values(values))


def refresh_summary(connection: Connection, user: str, conversation: str, turn: int) -> None:
    """Empty the summary if it covers this turn, whose answer has changed since."""
    folded = select(conversations.c.folded).where(_is_conversation(user, conversation)).with_for_update()
    if (connection.execute(folded).scalar() or 0) >= turn:
        empty_summary(connection, user, conversation)


def list_conversations(
    connection: Connection, user: str, limit: int, query: str = "", after: str = ""
) -> list[ConversationSummary]:
    if not query.strip():
        return _list_all(connection, user, limit, after)
    matching = _find_by_words(connection, user, query)
    return [listed for listed in _list_all(connection, user, None, after) if listed.conversation in matching][:limit]


def get_summary(connection: Connection, user: str, conversation: str) -> ConversationSummary:
    """Raises `NotFoundError`."""
    for summary in _list(connection, user, runs.c.conversation == conversation, 1):
        return summary
    raise NotFoundError(f'There is no conversation "{presentable(conversation)}".')


def describe(connection: Connection, user: str, conversation: str, title: str | None, pinned: bool | None) -> None:
    """Set its title and whether it is pinned; what is None stays."""
    values: dict[str, Any] = {} if title is None else {"title": title or None}
    if pinned is not None:
        values["pinned"] = datetime.now(UTC) if pinned else None
    if values:
        connection.execute(update(conversations).where(_is_conversation(user, conversation)).values(values))


def _list_all(connection: Connection, user: str, limit: int | None, after: str) -> list[ConversationSummary]:
    if not after:
        return _list(connection, user, runs.c.conversation != "", limit)
    last = select(_IS_PINNED, _NEWEST).select_from(_RUNS_AND_CONVERSATIONS).where(_is_turn(user, after))
    pinned, newest = connection.execute(last).one()
    if newest is None:
        return []
    follows = tuple_(_IS_PINNED, _NEWEST) < (pinned, newest)
    return _list(connection, user, runs.c.conversation != "", limit, follows)


def _list(
    connection: Connection, user: str, condition: Any, limit: int | None, follows: Any = True
) -> list[ConversationSummary]:
    """Pinned ones first, then by their newest turn. One query, also for the verdicts."""
    grouped = (
        select(
            runs.c.conversation,
            func.min(runs.c.turn).label("first"),
            func.count().label("turns"),
            func.min(runs.c.started).label("started"),
            func.max(runs.c.started).label("last"),
            func.max(conversations.c.title).label("title"),
            _IS_PINNED.label("pinned"),
            _NEWEST.label("newest"),
            _NEEDIEST.label("neediest"),
        )
        .select_from(_RUNS_AND_CONVERSATIONS)
        .where(runs.c.user_name == user, condition)
        .group_by(runs.c.conversation)
        .having(and_(True, follows))
        .order_by(_IS_PINNED.desc(), _NEWEST.desc())
        .limit(limit)
        .subquery()
    )
    is_first = and_(
        runs.c.user_name == user, runs.c.conversation == grouped.c.conversation, runs.c.turn == grouped.c.first
    )
    shown = runs.alias()
    columns = (
        grouped.c.conversation,
        grouped.c.turns,
        grouped.c.started,
        grouped.c.last,
        grouped.c.pinned,
        func.coalesce(grouped.c.title, runs.c.question).label("title"),
        shown.c.status,
        *examined_columns(shown),
    )
    query = (
        select(*columns)
        .join(runs, is_first)
        .join(shown, shown.c.number == grouped.c.neediest)
        .order_by(grouped.c.pinned.desc(), grouped.c.newest.desc())
    )
    rows = connection.execute(query).mappings()
    return [ConversationSummary(user=user, **row, examined=get_examined(row)) for row in rows]


def _find_by_words(connection: Connection, user: str, query: str) -> set[str]:
    """The names of conversations whose title or a turn contains the words. Latin words match at the start of a word."""
    words = list(dict.fromkeys(normalized(query).casefold().split()))[:MAX_QUERY_WORDS]
    starts = [f"(?<!{_LATIN})" if re.match(_LATIN, word) else "" for word in words]
    patterns = [re.compile(start + re.escape(word)) for start, word in zip(starts, words, strict=True)]
    answer = case((runs.c.status.in_(REUSABLE_STATUSES), runs.c.answer["text"].as_string()), else_="")
    turns = select(runs.c.conversation, runs.c.question, answer)
    titles = select(conversations.c.conversation, conversations.c.title, literal(""))
    own_turns = turns.where((runs.c.user_name == user) & (runs.c.conversation != ""))
    own_titles = titles.where((conversations.c.user_name == user) & conversations.c.title.is_not(None))
    matching: set[str] = set()
    for row in chain(connection.execute(own_titles).all(), connection.execute(own_turns)):
        if row[0] not in matching:
            text = normalized(f"{row[1]}\n{row[2] or ''}").casefold()
            if all(pattern.search(text) for pattern in patterns):
                matching.add(row[0])
    return matching


def list_turns(
    connection: Connection, user: str, conversation: str, limit: int, *, for_display: bool, before: int | None = None
) -> list[PastTurn]:
    query = TURN.where(_is_turn(user, conversation)).order_by(runs.c.turn.desc()).limit(limit)
    if before is not None:
        query = query.where(runs.c.turn < before)
    return [past_turn(row, for_display=for_display) for row in connection.execute(query)][::-1]


def list_run_ids(
    connection: Connection, user: str, conversation: str, after: int = 0, before: int | None = None
) -> list[str]:
    """The runs of the turns between these two, in order."""
    condition = _is_turn(user, conversation) & (runs.c.turn > after)
    if before is not None:
        condition &= runs.c.turn < before
    return list(connection.execute(select(runs.c.run_id).where(condition).order_by(runs.c.turn)).scalars())


def remove(connection: Connection, user: str, conversation: str, run_ids: Sequence[str]) -> None:
    """Delete the conversation and detach its runs, which keep nothing that the user wrote."""
    connection.execute(delete(conversations).where(_is_conversation(user, conversation)))
    for run_id in run_ids:
        detached = {"question": "", "conversation": "", "turn": 0, "request_key": None, "only": []}
        connection.execute(update(runs).where(runs.c.run_id == run_id).values(detached))


def past_turn(row: Row[Any], similarity: float = 0.0, *, for_display: bool = False) -> PastTurn:
    return PastTurn(
        run_id=row.run_id,
        number=row.turn,
        question=row.question,
        answer=row.answer["text"] if is_reusable(row) or (for_display and _is_released(row)) else "",
        asked=row.started,
        similarity=similarity,
        status=row.status,
    )


def is_reusable(row: Row[Any]) -> bool:
    """Whether a model may see this answer again: reviewed or approved by a person, and not disliked."""
    if not _is_released(row) or row.disliked:
        return False
    outcome = (row.answer.get("review") or {}).get("outcome")
    decisions = row.answer.get("decisions", ())
    return outcome not in UNPROVEN_OUTCOMES or any(decision["verdict"] == "approve" for decision in decisions)


def _is_released(row: Row[Any]) -> bool:
    return row.status in REUSABLE_STATUSES and row.answer is not None


def _is_turn(user: str, conversation: str) -> Any:
    return and_(runs.c.user_name == user, runs.c.conversation == conversation, runs.c.turn > 0)


def _is_conversation(user: str, conversation: str) -> Any:
    return and_(conversations.c.user_name == user, conversations.c.conversation == conversation)
