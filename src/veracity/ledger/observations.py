"""`observational_data.json` (SPEC A12): one record per line, appended under a lock that all processes share.

A kill in the midst of a write leaves a torn last line; whoever appends next cuts it off, and the outbox of the ledger
writes that record again. Knows nothing about what a record says, but for the run and the attempt it belongs to.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic_core import to_jsonable_python
from sqlalchemy import Connection, bindparam, insert, null, select, update

from veracity.ledger.database import Database, explained
from veracity.ledger.tables import outbox
from veracity.models import Answer
from veracity.printable import encodable


def observation(answer: Answer, models: dict[str, str]) -> dict[str, Any] | None:
    """Only of an answer whose review passed and that nobody rejected (SPEC A12): what a person wrote in its place was
    never reviewed."""
    if answer.status != "answered" or answer.review is None or answer.review.outcome != "passed":
        return None
    return {
        "instruction": answer.standalone,
        "input": [
            {
                "text": one.text,
                "source": one.source,
                "score": one.metadata.relevance_score,
                "id": one.id,
                "document_id": one.document_id,
            }
            for one in answer.evidence
        ],
        "output": answer.text,
        "run_id": answer.run_id,
        "attempt": answer.attempt,
        "time": datetime.now(UTC).isoformat(),
        "form": answer.form,
        "models": models,
        "review": answer.review.model_dump(mode="json"),
        "scores": _scores(answer),
    }


def _scores(answer: Answer) -> dict[str, float | None]:
    metrics = {one.metric_name: one.score for one in answer.evaluation.metrics} if answer.evaluation else {}
    quality = answer.quality.score if answer.quality else None
    return {"evidence_quality": quality, "overall": answer.score, **metrics}


PATIENCE = 30.0  # seconds to wait for another who writes
Key = tuple[str, int]
# Valid within a line of JSON, and yet the end of a line to many who read it.
_BREAKS = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})


class Observations:
    """Can be shared by threads. The file is made with the first record."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.draft")
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE, poll_interval=0.01)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes meanwhile. Who holds it may take it again."""
        with explained(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                yield

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """They are on the disk when this returns; when it raises, none of them is."""
        with self.locked():
            is_new = not self._path.exists()
            with self._path.open("ab+", buffering=0) as file:  # a buffer would be written again after it was undone
                _mend(file)
                _write_or_undo(file, b"".join(_line(record) for record in records))
            if is_new:
                _settle(self._path.parent)

    def holds(self, keys: set[Key]) -> set[Key]:
        """Those of the keys that the file has a record for."""
        with self.locked():
            ids = [json.dumps(run_id, ensure_ascii=False).encode() for run_id, _ in keys]
            lines = (
                line for line in self._lines() if any(run_id in line for run_id in ids)
            )  # no need to parse the rest
            return keys & {key for line in lines if (key := _key(line))}

    def remove(self, keys: set[Key]) -> None:
        """The file is written anew without them, and takes the place of the old one as a whole."""
        with self.locked():
            if not self._path.exists():
                return
            with self._path.open("ab+", buffering=0) as file:
                _mend(file)  # half a record is not known by its key
            with self._draft.open("wb") as draft:
                draft.writelines(line for line in self._lines() if _key(line) not in keys)
                draft.flush()
                os.fsync(draft.fileno())
            shutil.copymode(self._path, self._draft)
            self._draft.replace(self._path)
            _settle(self._path.parent)

    def _lines(self) -> Iterator[bytes]:
        if self._path.exists():
            with self._path.open("rb") as file:
                yield from file


def _line(record: dict[str, Any]) -> bytes:
    return encodable(json.dumps(record, ensure_ascii=False)).translate(_BREAKS).encode() + b"\n"


def _key(line: bytes) -> Key | None:
    """None for a line that is no record of a run, or one cut off in the midst."""
    try:
        record = json.loads(line)
        return str(record["run_id"]), int(record["attempt"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _mend(file: FileIO) -> None:
    """Every line shall be whole: a torn one is cut off, one that only lacks its end gets it."""
    last = _last_line(file)
    if last.endswith(b"\n") or not last:
        return
    if _is_torn(last):
        file.truncate(file.seek(0, os.SEEK_END) - len(last))
    else:
        file.write(b"\n")


def _is_torn(line: bytes) -> bool:
    """Zeros are what some file systems leave where the power went. What does not begin as a record is not ours."""
    if b"\0" in line:
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b"{")
    return False


def _last_line(file: FileIO) -> bytes:
    """From the last line end on; only the end itself where nothing follows it."""
    end, found = file.seek(0, os.SEEK_END), b""
    while end > 0 and b"\n" not in found:
        start = max(0, end - max(4096, len(found)))
        file.seek(start)
        found, end = file.read(end - start) + found, start
    head, newline, tail = found.rpartition(b"\n")
    return tail or newline or head


def _write_or_undo(file: FileIO, content: bytes) -> None:
    size = file.seek(0, os.SEEK_END)
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


def _settle(folder: Path) -> None:
    """A name in a folder is on the disk only when the folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
