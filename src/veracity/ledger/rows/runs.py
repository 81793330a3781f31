"""Rows of runs and of their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    RowMapping,
    Select,
    bindparam,
    case,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from veracity.errors import BusyLedgerError, InputError, LedgerError, NotFoundError
from veracity.ledger.tables import (
    INDEXED_QUESTION_LENGTH,
    UtcDateTime,
    approvals,
    as_stored,
    is_case,
    question_head,
    runs,
    steps,
)
from veracity.models import (
    Answer,
    Examination,
    RunParameters,
    RunStanding,
    RunStatus,
    RunSummary,
    Step,
    Usage,
    load_step,
)
from veracity.models.examination import read_examination
from veracity.secrets import presentable

LAST = "last"
ENDED_WITH_ANSWER = ("answered", "abstained", "rejected")
_EXAMINED = "examined_"  # of column names
MAX_LISTED_IDS = 5  # in one message
_STEP_COUNT = select(func.count()).select_from(steps).where(steps.c.run_id == runs.c.run_id).scalar_subquery()
_IS_PENDING = exists().where(
    (approvals.c.run_id == runs.c.run_id)
    & ((approvals.c.state == "pending") | (approvals.c.effective > bindparam("now", type_=UtcDateTime)))
)


class LockedRun(NamedTuple):
    """A run that no other transaction can change until this one ends."""

    number: int
    user: str
    question: str
    status: RunStatus
    forgotten: int
    conversation: str
    turn: int


_BY_FIELD: dict[str, Any] = {**runs.c, "user": runs.c.user_name.label("user")}
# Built once: these are executed for every step of a run, and building a statement costs as much as executing it.
_IS_RUN = runs.c.run_id == bindparam("of_run")
_LOCKED: Select[Any] = select(*(_BY_FIELD[name] for name in LockedRun._fields)).where(_IS_RUN).with_for_update()
_UPDATED = update(runs).where(_IS_RUN)
_LAST_STEP = select(func.max(steps.c.seq)).where(steps.c.run_id == bindparam("of_run"))
_SUMMARY: Select[Any] = select(*(_BY_FIELD[name] for name in RunSummary.model_fields if name in _BY_FIELD))
_PARAMETERS: Select[Any] = select(*(_BY_FIELD[name] for name in RunParameters.model_fields))


def lock(connection: Connection, run_id: str) -> LockedRun:
    row = connection.execute(_LOCKED, {"of_run": run_id}).one_or_none()
    if row is None:
        raise _not_found(run_id)
    return LockedRun._make(row)


def add(
    connection: Connection, run: RunParameters, turn: int, language: str, models: dict[str, str], key: str = ""
) -> None:
    values = {
        **run.model_dump(exclude={"user", "seconds"}),
        "user_name": run.user,
        "turn": turn,
        "language": language,
        "models": models,
        "started": datetime.now(UTC),
        "problem": "",
        "forgotten": 0,
        "request_key": key or None,
    }
    try:
        connection.execute(insert(runs), values)
    except IntegrityError:
        if key:
            raise BusyLedgerError("Another request with the same key just started a run: send it again.") from None
        raise LedgerError(f'The run "{presentable(run.run_id)}" exists already: use another id.') from None


def add_steps(connection: Connection, run_id: str, new: Sequence[Step]) -> None:
    last = connection.execute(_LAST_STEP, {"of_run": run_id}).scalar() or 0
    rows = [
        {**step.model_dump(mode="json"), "run_id": run_id, "seq": seq, "started": step.started}
        for seq, step in enumerate(new, last + 1)
    ]
    if rows:
        connection.execute(insert(steps), rows)


def set_usage(
    connection: Connection,
    run_id: str,
    usage: Usage | None,
    seconds: float | None,
    by_role: Mapping[str, Usage] | None = None,
) -> None:
    """None leaves the stored value unchanged."""
    values = {
        "usage": None if usage is None else usage.model_dump(mode="json"),
        "usage_by_role": None if by_role is None else {role: used.model_dump() for role, used in by_role.items()},
        "seconds": seconds,
    }
    if changed := {name: value for name, value in values.items() if value is not None}:
        connection.execute(_UPDATED, {"of_run": run_id, **changed})


def set_status(connection: Connection, run_id: str, status: RunStatus, problem: str = "") -> None:
    connection.execute(_UPDATED, {"of_run": run_id, "status": status, "problem": problem})


def set_answer(connection: Connection, run_id: str, answer: Answer) -> None:
    connection.execute(_UPDATED, {"of_run": run_id, "answer": answer.model_dump(mode="json")})


def list_runs(connection: Connection, limit: int, user: str | None, after: str = "") -> list[RunSummary]:
    """Those of all users are without the cases of experiments."""
    query, last = _SUMMARY.add_columns(*examined_columns(runs)), select(runs.c.number)
    if user is None:
        query = query.where(~is_case)
    else:
        query, last = query.where(runs.c.user_name == user), last.where(runs.c.user_name == user)
    if after:
        query = query.where(runs.c.number < last.where(runs.c.run_id == after).scalar_subquery())
    return _summaries(connection, query, limit)


def list_with_question(connection: Connection, user: str, question: str, limit: int) -> list[RunSummary]:
    stored, length = as_stored(question), INDEXED_QUESTION_LENGTH
    same = (question_head == stored[:length]) & (func.substr(runs.c.question, length + 1) == stored[length:])
    return _summaries(connection, _SUMMARY.where((runs.c.user_name == user) & same), limit)


def list_languages(connection: Connection, limit: int) -> list[str]:
    newest = select(runs.c.language).where(~is_case).order_by(runs.c.number.desc()).limit(limit)
    return list(connection.execute(newest).scalars())


def get_nth_newest_start(connection: Connection, user: str, number: int) -> datetime | None:
    newest = select(runs.c.started).where(runs.c.user_name == user).order_by(runs.c.number.desc())
    started: datetime | None = connection.execute(newest.offset(number - 1).limit(1)).scalar()
    return started


def find_by_key(connection: Connection, user: str, key: str) -> RunSummary | None:
    rows = _summaries(connection, _SUMMARY.where((runs.c.user_name == user) & (runs.c.request_key == key)), 1)
    return rows[0] if rows else None


def get_summary(connection: Connection, run_id: str) -> RunSummary:
    return RunSummary(**_row(connection, run_id, _SUMMARY)._mapping)


def get_state(connection: Connection, run_id: str) -> RunStanding | None:
    """A run whose draft was decided counts as running, even before a process resumes it, but not while the decision can
    be withdrawn."""
    status = case(((runs.c.status == "awaiting_approval") & ~_IS_PENDING, "running"), else_=runs.c.status)
    is_forgotten = (runs.c.forgotten > 0) | (runs.c.question == "")
    own = select(_BY_FIELD["user"], status.label("status"), _STEP_COUNT.label("steps"), is_forgotten.label("forgotten"))
    row = connection.execute(own.where(runs.c.run_id == run_id), {"now": datetime.now(UTC)}).one_or_none()
    return None if row is None else RunStanding(run_id=run_id, **row._mapping)


def get_statuses(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunStatus]:
    rows = connection.execute(select(runs.c.run_id, runs.c.status).where(runs.c.run_id.in_(run_ids)))
    return {row.run_id: row.status for row in rows}


def list_unfinished(connection: Connection) -> list[str]:
    is_unfinished = runs.c.status.in_(("running", "awaiting_approval"))
    return list(connection.execute(select(runs.c.run_id).where(is_unfinished)).scalars())


def list_pending(connection: Connection) -> list[str]:
    is_pending = (runs.c.status == "awaiting_approval") & (runs.c.forgotten == 0)
    return list(connection.execute(select(runs.c.run_id).where(is_pending).order_by(runs.c.number)).scalars())


def find_id(connection: Connection, name: str) -> str:
    if not name:
        raise InputError(f'Name a run by its id, a prefix of its id, or "{LAST}".')
    newest_first = select(runs.c.run_id).order_by(runs.c.number.desc())
    if name == LAST:
        newest = connection.execute(newest_first.where(~is_case).limit(1)).scalar()
        if newest is None:
            raise InputError("There is no run yet: ask a question first.")
        return str(newest)
    if connection.execute(select(runs.c.run_id).where(runs.c.run_id == name)).first():
        return name
    has_prefix = func.substr(runs.c.run_id, 1, len(name)) == name
    ids = connection.execute(newest_first.where(has_prefix)).scalars().all()
    if not ids:
        raise _not_found(name)
    if len(ids) > 1:
        listed = list_ids(ids)
        raise InputError(f'{len(ids)} run ids start with "{presentable(name)}" ({listed}): write more of the id.')
    return str(ids[0])


def list_ids(ids: Sequence[str]) -> str:
    return ", ".join(map(presentable, ids[:MAX_LISTED_IDS])) + (", …" if len(ids) > MAX_LISTED_IDS else "")


def get_steps_by_number(connection: Connection, run_id: str) -> dict[int, Step]:
    columns = select(steps.c.seq, steps.c.name, steps.c.started, steps.c.seconds, steps.c.facts, steps.c.texts)
    rows = connection.execute(columns.where(steps.c.run_id == run_id).order_by(steps.c.seq)).all()
    return {row.seq: load_step({name: row._mapping[name] for name in row._fields if name != "seq"}) for row in rows}


def replace_step(connection: Connection, run_id: str, number: int, step: Step) -> None:
    values = step.model_dump(mode="json", include={"facts", "texts"})
    connection.execute(update(steps).where((steps.c.run_id == run_id) & (steps.c.seq == number)).values(values))


def get_answer(connection: Connection, run_id: str) -> Answer | None:
    (stored,) = _row(connection, run_id, select(runs.c.answer))
    return None if stored is None else Answer.model_validate(stored)


def get_models(connection: Connection, run_id: str) -> dict[str, str]:
    (stored,) = _row(connection, run_id, select(runs.c.models))
    return dict(stored)


def get_parameters(connection: Connection, run_id: str) -> RunParameters:
    row = _row(connection, run_id, _PARAMETERS)
    return RunParameters.model_validate({**row._mapping, "seconds": row.seconds or 0.0})


def _row(connection: Connection, run_id: str, columns: Select[Any]) -> Row[Any]:
    row = connection.execute(columns.where(runs.c.run_id == run_id)).one_or_none()
    if row is None:
        raise _not_found(run_id)
    return row


def _not_found(name: str) -> InputError:
    return NotFoundError(f'There is no run "{presentable(name)}".')


def _summaries(connection: Connection, query: Select[Any], limit: int) -> list[RunSummary]:
    rows = connection.execute(query.order_by(runs.c.number.desc()).limit(limit)).mappings()
    return [RunSummary(**row, examined=get_examined(row)) for row in rows]


def examined_columns(table: FromClause) -> list[ColumnElement[Any]]:
    """What the verdict on a run's answer rests on: the database reads it, so that whole answers need not be loaded."""
    return [table.c.answer[name].label(_EXAMINED + name) for name in Examination.model_fields]


def get_examined(row: RowMapping) -> Examination | None:
    """From a row with `examined_columns`. None without an answer, or while the run has not ended."""
    if row["status"] not in ENDED_WITH_ANSWER:
        return None
    return read_examination({name: row.get(_EXAMINED + name) for name in Examination.model_fields})
