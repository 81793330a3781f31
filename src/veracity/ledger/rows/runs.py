"""The rows of runs and of their steps. Knows nothing about what else happens in the same transaction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Row, Select, case, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from veracity.errors import BusyLedgerError, InputError, LedgerError, NotFoundError
from veracity.language import normalized
from veracity.ledger.rows.conversations import USABLE
from veracity.ledger.tables import HEAD, approval_changed, approvals, as_stored, question_head, runs, steps
from veracity.models import Answer, ApprovalStanding, RunParameters, RunStanding, RunStatus, RunSummary, Step, Usage
from veracity.secrets import presentable

_NAMES = tuple(ApprovalStanding.model_fields)
_STANDINGS = TypeAdapter(list[ApprovalStanding])
_STEPS = select(func.count()).select_from(steps).where(steps.c.run_id == runs.c.run_id).scalar_subquery()
_IS_PENDING = exists().where((approvals.c.run_id == runs.c.run_id) & (approvals.c.state == "pending"))
_STATUS = case(((runs.c.status == "awaiting_approval") & ~_IS_PENDING, "running"), else_=runs.c.status)
_FORGOTTEN = (runs.c.forgotten > 0) | (runs.c.question == "")
_LATEST = select(  # in the order of the names: read by name, a row takes three times as long
    approvals.c.approval_id,
    approvals.c.run_id,
    approvals.c.user_name,
    approvals.c.state,
    approvals.c.question,
    func.coalesce(approvals.c.decided_by, ""),
).order_by(approval_changed.desc(), approvals.c.number.desc())


def latest_standings(connection: Connection, limit: int) -> list[ApprovalStanding]:
    """Those that were made, decided or superseded last, the latest first."""
    rows = connection.execute(_LATEST.limit(limit))
    return _STANDINGS.validate_python([dict(zip(_NAMES, row, strict=True)) for row in rows])


def of_run(connection: Connection, run_id: str) -> RunStanding | None:
    """One that was decided on runs, even if nobody has taken it up yet."""
    wanted = select(runs.c.user_name, _STATUS, _STEPS, _FORGOTTEN).where(runs.c.run_id == run_id)
    row = connection.execute(wanted).one_or_none()
    if row is None:
        return None
    return RunStanding(run_id=run_id, user=row[0], status=row[1], steps=row[2], forgotten=row[3])


def pending(connection: Connection, user: str | None) -> int:
    """How many wait: of those that this user asked for, or of all."""
    wanted = select(func.count()).select_from(approvals).where(approvals.c.state == "pending")
    if user is not None:
        wanted = wanted.where(approvals.c.user_name == user)
    return connection.execute(wanted).scalar_one()


def of_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunStatus]:
    wanted = select(runs.c.run_id, runs.c.status).where(runs.c.run_id.in_(run_ids))
    return {row.run_id: row.status for row in connection.execute(wanted)}


LAST = "last"
MOST_NAMED = 5  # runs in one message
_SUMMARY: Select[Any] = select(
    runs.c.run_id,
    runs.c.question,
    runs.c.user_name,
    runs.c.status,
    runs.c.started,
    runs.c.seconds,
    runs.c.problem,
    runs.c.conversation,
)


class HeldRun(NamedTuple):
    """A run that nobody else can change until the transaction ends."""

    number: int
    user: str
    question: str
    status: RunStatus
    forgotten: int
    conversation: str
    turn: int


def add(
    connection: Connection, asked: RunParameters, turn: int, language: str, models: dict[str, str], key: str = ""
) -> None:
    try:
        connection.execute(
            insert(runs),
            {
                "run_id": asked.run_id,
                "user_name": asked.user,
                "question": asked.question,
                "conversation": asked.conversation,
                "turn": turn,
                "max_rewrites": asked.max_rewrites,
                "deadline": asked.deadline,
                "language": language,
                "models": models,
                "status": asked.status,
                "started": datetime.now(UTC),
                "problem": "",
                "usage": asked.usage.model_dump(mode="json"),
                "forgotten": 0,
                "request_key": key or None,
            },
        )
    except IntegrityError:
        if key:
            told = "A question was taken in under the same key at this moment: send it again."
            raise BusyLedgerError(told) from None
        raise LedgerError(f'The run "{presentable(asked.run_id)}" was begun already: begin another one.') from None


def held(connection: Connection, run_id: str) -> HeldRun:
    wanted = select(
        runs.c.number,
        runs.c.user_name,
        runs.c.question,
        runs.c.status,
        runs.c.forgotten,
        runs.c.conversation,
        runs.c.turn,
    )
    found = connection.execute(wanted.where(runs.c.run_id == run_id).with_for_update()).one_or_none()
    if found is None:
        raise _unknown(run_id)
    return HeldRun(*found)


def add_steps(connection: Connection, run_id: str, done: Sequence[Step]) -> None:
    last = connection.execute(select(func.max(steps.c.seq)).where(steps.c.run_id == run_id)).scalar() or 0
    rows = [
        {**step.model_dump(mode="json"), "run_id": run_id, "seq": seq, "started": step.started}
        for seq, step in enumerate(done, last + 1)
    ]
    if rows:
        connection.execute(insert(steps), rows)


def set_used(connection: Connection, run_id: str, usage: Usage | None, seconds: float | None) -> None:
    """What was used so far."""
    used = {"usage": None if usage is None else usage.model_dump(mode="json"), "seconds": seconds}
    known = {name: value for name, value in used.items() if value is not None}
    if known:
        connection.execute(update(runs).where(runs.c.run_id == run_id), known)


def set_status(connection: Connection, run_id: str, status: RunStatus, problem: str = "") -> None:
    connection.execute(update(runs).where(runs.c.run_id == run_id), {"status": status, "problem": problem})


def end(
    connection: Connection,
    run_id: str,
    status: RunStatus,
    answer: Answer | None,
    usage: Usage,
    seconds: float,
    problem: str,
) -> None:
    connection.execute(
        update(runs).where(runs.c.run_id == run_id),
        {
            "status": status,
            "answer": None if answer is None else answer.model_dump(mode="json"),
            "usage": usage.model_dump(mode="json"),
            "seconds": seconds,
            "problem": problem,
        },
    )


def latest(connection: Connection, limit: int, user: str | None, after: str = "") -> list[RunSummary]:
    """With `after`, those that follow this run."""
    wanted, last = _SUMMARY.order_by(runs.c.number.desc()).limit(limit), select(runs.c.number)
    if user is not None:
        wanted, last = wanted.where(runs.c.user_name == user), last.where(runs.c.user_name == user)
    if after:
        wanted = wanted.where(runs.c.number < last.where(runs.c.run_id == after).scalar_subquery())
    return [_summary(row) for row in connection.execute(wanted)]


def fitting(connection: Connection, condition: ColumnElement[bool], limit: int) -> list[RunSummary]:
    """The newest first."""
    wanted = _SUMMARY.where(condition).order_by(runs.c.number.desc()).limit(limit)
    return [_summary(row) for row in connection.execute(wanted)]


def unfinished(connection: Connection) -> list[str]:
    under_way = runs.c.status.in_(("running", "awaiting_approval"))
    return list(connection.execute(select(runs.c.run_id).where(under_way)).scalars())


def waiting(connection: Connection) -> list[str]:
    """Those that wait for a person and have read nothing that was forgotten, the oldest first."""
    theirs = (runs.c.status == "awaiting_approval") & (runs.c.forgotten == 0)
    return list(connection.execute(select(runs.c.run_id).where(theirs).order_by(runs.c.number)).scalars())


def full_id(connection: Connection, name: str) -> str:
    """Of the run with this id, or the only one whose id begins so, or the newest."""
    if name == LAST:
        newest = connection.execute(select(runs.c.run_id).order_by(runs.c.number.desc()).limit(1)).scalar()
        if newest is None:
            raise InputError("There is no run yet: ask a question first.")
        return str(newest)
    if not name or connection.execute(select(runs.c.run_id).where(runs.c.run_id == name)).first():
        return _required(name)
    begins = func.substr(runs.c.run_id, 1, len(name)) == name
    found = connection.execute(select(runs.c.run_id).where(begins).order_by(runs.c.number.desc())).scalars().all()
    if not found:
        raise _unknown(name)
    if len(found) > 1:
        named = ", ".join(presentable(one) for one in found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
        raise InputError(f'{len(found)} runs begin with "{presentable(name)}" ({named}): write more of the id.')
    return str(found[0])


def summary(connection: Connection, run_id: str) -> RunSummary:
    return _summary(_one(connection, run_id, _SUMMARY))


def steps_of(connection: Connection, run_id: str) -> list[Step]:
    wanted = select(steps.c.name, steps.c.started, steps.c.seconds, steps.c.facts, steps.c.texts)
    found = connection.execute(wanted.where(steps.c.run_id == run_id).order_by(steps.c.seq))
    return [Step.model_validate(dict(row)) for row in found.mappings()]


def answer_of(connection: Connection, run_id: str) -> Answer | None:
    (answer,) = _one(connection, run_id, select(runs.c.answer))
    return None if answer is None else Answer.model_validate(answer)


def models_of(connection: Connection, run_id: str) -> dict[str, str]:
    (models,) = _one(connection, run_id, select(runs.c.models))
    return dict(models)


def parameters(connection: Connection, run_id: str) -> RunParameters:
    row = _one(connection, run_id, select(runs))
    return RunParameters(
        run_id=row.run_id,
        question=row.question,
        user=row.user_name,
        conversation=row.conversation,
        max_rewrites=row.max_rewrites,
        deadline=row.deadline,
        status=row.status,
        seconds=row.seconds or 0.0,
        usage=Usage.model_validate(row.usage),
    )


def usage_of(connection: Connection, run_id: str) -> Usage:
    (usage,) = _one(connection, run_id, select(runs.c.usage))
    return Usage.model_validate(usage)


def _one(connection: Connection, run_id: str, wanted: Select[Any]) -> Row[Any]:
    found = connection.execute(wanted.where(runs.c.run_id == run_id)).one_or_none()
    if found is None:
        raise _unknown(run_id)
    return found


def _required(name: str) -> str:
    if not name:
        raise InputError(f'A run is named by its id, by the beginning of it, or "{LAST}".')
    return name


def _unknown(name: str) -> InputError:
    return NotFoundError(f'There is no run "{presentable(name)}".')


def _summary(row: Row[Any]) -> RunSummary:
    return RunSummary(
        run_id=row.run_id,
        question=row.question,
        user=row.user_name,
        status=row.status,
        started=row.started,
        seconds=row.seconds,
        problem=row.problem,
        conversation=row.conversation,
    )


MOST_WORDS = 20
_LATIN = "0-9a-z\u00df-\u024f"


def conversations_with(connection: Connection, user: str, query: str) -> set[str]:
    """The names of this user's conversations in which a turn holds the words."""
    patterns = [_pattern(word) for word in list(dict.fromkeys(_folded(query).split()))[:MOST_WORDS]]
    went_out = case((runs.c.status.in_(USABLE), runs.c.answer["text"].as_string()), else_="")
    theirs = (runs.c.user_name == user) & (runs.c.conversation != "")
    found: set[str] = set()
    for name, question, answer in connection.execute(
        select(runs.c.conversation, runs.c.question, went_out).where(theirs)
    ):
        if name not in found and _holds(f"{question}\n{answer or ''}", patterns):
            found.add(name)
    return found


def runs_asking(connection: Connection, user: str, question: str, limit: int) -> list[RunSummary]:
    """Those of this user that ask exactly this, the newest first."""
    asked = as_stored(question)
    same = (question_head == asked[:HEAD]) & (func.substr(runs.c.question, HEAD + 1) == asked[HEAD:])
    return fitting(connection, (runs.c.user_name == user) & same, limit)


def run_under(connection: Connection, user: str, key: str) -> RunSummary | None:
    """The one that this user asked under the key."""
    found = fitting(connection, (runs.c.user_name == user) & (runs.c.request_key == key), 1)
    return found[0] if found else None


def _holds(text: str, patterns: list[re.Pattern[str]]) -> bool:
    folded = _folded(text)
    return all(pattern.search(folded) for pattern in patterns)


def _pattern(word: str) -> re.Pattern[str]:
    begins = f"(?<![{_LATIN}])" if re.match(f"[{_LATIN}]", word) else ""
    return re.compile(begins + re.escape(word))


def _folded(text: str) -> str:
    return normalized(text).casefold()
