"""The way of an observation from the ledger into the file: each once, whenever someone is killed (SPEC A12).

    pending → delivering → written        a record that is to be in the file, under its key (run, attempt)
    any of them → withdrawn → removed     its run read a document that was forgotten, or somebody dislikes the answer
    both of these → delivering            nobody dislikes it any more

Whoever delivers holds the lock of the file from the first look to the last mark. For a row that is "delivering" then,
since someone died or it was put back, the file may hold its record already, and is searched for it; for such a row
only. Knows nothing about what a record says.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic_core import to_jsonable_python
from sqlalchemy import Connection, bindparam, insert, null, select, update

from veracity.ledger.database import Database
from veracity.ledger.observations import Key, Observations
from veracity.ledger.schema import outbox

PENDING, DELIVERING, WRITTEN = "pending", "delivering", "written"
WITHDRAWN, REMOVED = "withdrawn", "removed"
UNSETTLED = (PENDING, DELIVERING, WITHDRAWN)
AT_ONCE = 100


def put(connection: Connection, run_id: str, attempt: int, observation: dict[str, Any]) -> None:
    record = _record(run_id, attempt, observation)
    values = {"run_id": run_id, "attempt": attempt, "state": PENDING, "record": record}
    connection.execute(insert(outbox), values)


def put_back(connection: Connection, run_id: str, attempt: int, observation: dict[str, Any]) -> None:
    """Only what was withdrawn."""
    theirs = (outbox.c.run_id == run_id) & (outbox.c.attempt == attempt) & outbox.c.state.in_((WITHDRAWN, REMOVED))
    record = _record(run_id, attempt, observation)
    connection.execute(update(outbox).where(theirs).values(state=DELIVERING, record=record))


def withdraw(connection: Connection, run_id: str) -> None:
    theirs = (outbox.c.run_id == run_id) & (outbox.c.state != REMOVED)
    connection.execute(update(outbox).where(theirs).values(state=WITHDRAWN, record=null()))


def deliver(database: Database, observations: Observations) -> int:
    """How many records were written to the file."""
    with database.reading() as connection:
        waiting = connection.execute(select(outbox.c.number).where(outbox.c.state.in_(UNSETTLED)).limit(1)).first()
    if waiting is None:
        return 0
    with observations.locked():
        _take_out(database, observations)
        written = 0
        while (some := _bring_in(database, observations)) is not None:
            written += some
        return written


def _record(run_id: str, attempt: int, observation: dict[str, Any]) -> dict[str, Any]:
    return {**to_jsonable_python(observation, inf_nan_mode="null"), "run_id": run_id, "attempt": attempt}


def _take_out(database: Database, observations: Observations) -> None:
    with database.reading() as connection:
        withdrawn = _keys(connection, WITHDRAWN)
    if withdrawn:
        observations.remove(set(withdrawn.values()))
        _mark(database, withdrawn, WITHDRAWN, REMOVED)


def _bring_in(database: Database, observations: Observations) -> int | None:
    """None when there was nothing left."""
    wanted = select(outbox).where(outbox.c.state.in_((PENDING, DELIVERING))).order_by(outbox.c.number).limit(AT_ONCE)
    with database.writing() as connection:
        rows = connection.execute(wanted).all()
        numbers = [row.number for row in rows]
        connection.execute(update(outbox).where(outbox.c.number.in_(numbers)).values(state=DELIVERING))
    if not rows:
        return None
    stranded = {(row.run_id, row.attempt) for row in rows if row.state == DELIVERING}
    there = observations.holds(stranded) if stranded else set()
    missing = [row.record for row in rows if (row.run_id, row.attempt) not in there]
    if missing:
        observations.append(missing)
    _mark(database, numbers, DELIVERING, WRITTEN)
    return len(missing)


def _keys(connection: Connection, state: str) -> dict[int, Key]:
    rows = connection.execute(select(outbox.c.number, outbox.c.run_id, outbox.c.attempt).where(outbox.c.state == state))
    return {number: (run_id, attempt) for number, run_id, attempt in rows}


def _mark(database: Database, numbers: Collection[int], before: str, after: str) -> None:
    """Only those that are still what they were: one may have been withdrawn meanwhile."""
    same = (outbox.c.number == bindparam("which")) & (outbox.c.state == before)
    with database.writing() as connection:
        connection.execute(
            update(outbox).where(same).values(state=after, record=null()), [{"which": number} for number in numbers]
        )
