"""Rows of calls to models that are kept with their texts (`receipts.prompts`)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, insert, select, update

from veracity.ledger.tables import model_calls, runs
from veracity.models import ModelCall

_COLUMNS = tuple(model_calls.c[name] for name in ModelCall.model_fields)
_KEPT = model_calls.c.texts.is_not(None)


def add(connection: Connection, run_id: str, new: Sequence[ModelCall]) -> None:
    if not new:
        return
    last_call = select(func.max(model_calls.c.seq)).where(model_calls.c.run_id == run_id)
    last = connection.execute(last_call).scalar() or 0
    rows = [
        {**call.model_dump(mode="json"), "run_id": run_id, "seq": seq, "started": call.started}
        for seq, call in enumerate(new, last + 1)
    ]
    connection.execute(insert(model_calls), rows)


def list_of_run(connection: Connection, run_id: str) -> list[ModelCall]:
    """In the order in which they ended."""
    rows = connection.execute(select(*_COLUMNS).where(model_calls.c.run_id == run_id).order_by(model_calls.c.seq))
    return [ModelCall.model_validate(dict(row._mapping)) for row in rows]


def erase(connection: Connection, run_id: str) -> None:
    """Erase the texts. Role, model, time and usage are kept."""
    connection.execute(update(model_calls).where((model_calls.c.run_id == run_id) & _KEPT).values(texts=None))


def erase_role_after(connection: Connection, user: str, role: str, run_number: int) -> None:
    """Erase the texts of this role in the runs of a user that began after this run."""
    later = select(runs.c.run_id).where((runs.c.user_name == user) & (runs.c.number > run_number))
    of_role = (model_calls.c.role == role) & model_calls.c.run_id.in_(later)
    connection.execute(update(model_calls).where(of_role & _KEPT).values(texts=None))
