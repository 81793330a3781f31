"""`observational_data.json` (SPEC A12): one record per reviewed answer and line, and the outbox that feeds it.

The outbox is a table, so a record is stored in the same transaction as its answer and delivered to the file afterwards.
A process killed while appending leaves a torn last line: the next append cuts it off and the outbox delivers it again.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic_core import to_jsonable_python
from sqlalchemy import ColumnElement, Connection, bindparam, insert, or_, select, true, update

from veracity.ledger.database import Database, translate_errors
from veracity.ledger.tables import outbox
from veracity.models import Answer, Evidence
from veracity.printable import json_line

LOCK_TIMEOUT_SECONDS = 30.0
BATCH_SIZE = 100
PENDING, DELIVERING, WRITTEN = "pending", "delivering", "written"  # states of the outbox
WITHDRAWN, REMOVED = "withdrawn", "removed"

Key = tuple[str, int]  # run id and attempt


def make_observation(answer: Answer, models: dict[str, str]) -> dict[str, Any] | None:
    """The record of an answer that passed its review. None for others, and for edited drafts, which nobody reviewed."""
    if answer.status != "answered" or answer.review is None or answer.review.outcome != "passed":
        return None
    metrics = answer.evaluation.metrics if answer.evaluation else []
    return {
        "instruction": answer.standalone,
        "input": [
            {
                "text": passage.text,
                "source": passage.source,
                "score": passage.metadata.relevance_score,
                "id": passage.id,
                "document_id": passage.document_id,
                "questions": _answered_questions(answer, number, passage),
            }
            for number, passage in enumerate(answer.evidence, start=1)
        ],
        "output": answer.text,
        "run_id": answer.run_id,
        "attempt": answer.attempt,
        "time": datetime.now(UTC).isoformat(),
        "form": answer.form,
        "models": models,
        "review": answer.review.model_dump(mode="json"),
        "scores": {
            "evidence_quality": answer.quality.score if answer.quality else None,
            "overall": answer.score,
            **{metric.metric_name: metric.score for metric in metrics},
        },
    }


def _answered_questions(answer: Answer, number: int, passage: Evidence) -> list[str]:
    """The questions known to be answered by the passage: the one of an earlier answer, and this one if it is cited."""
    earlier = [passage.title] if passage.source == "history" else []
    supported = (sentence for sentence in answer.sentences if sentence.supported)
    is_cited = any(citation.number == number for sentence in supported for citation in sentence.citations)
    return [*earlier, *([answer.standalone] if is_cited and answer.standalone not in earlier else [])]


def enqueue(connection: Connection, run_id: str, attempt: int, observation: dict[str, Any]) -> None:
    values = {"run_id": run_id, "attempt": attempt, "state": PENDING, "record": _record(run_id, attempt, observation)}
    connection.execute(insert(outbox), values)


def enqueue_again(connection: Connection, run_id: str, attempt: int, observation: dict[str, Any]) -> None:
    """Undo `withdraw`. No-op for a record that was not withdrawn."""
    withdrawn = (outbox.c.run_id == run_id) & (outbox.c.attempt == attempt) & outbox.c.state.in_((WITHDRAWN, REMOVED))
    record = _record(run_id, attempt, observation)
    connection.execute(update(outbox).where(withdrawn).values(state=DELIVERING, record=record))


def withdraw(connection: Connection, run_id: str) -> None:
    """The next delivery removes the run's records from the file."""
    records = (outbox.c.run_id == run_id) & (outbox.c.state != REMOVED)
    connection.execute(update(outbox).where(records).values(state=WITHDRAWN, record=None))


def deliver(database: Database, file: Observations, *, shared: bool = False) -> int:
    """Apply the outbox to the file. Returns the number of records written.

    Of a `shared` ledger, each record goes into the file of one machine, which also removes it."""
    place = file.place() if shared else None
    is_here = or_(outbox.c.place.is_(None), outbox.c.place == place) if shared else true()
    unsettled = select(outbox.c.number).where(outbox.c.state.in_((PENDING, DELIVERING, WITHDRAWN)), is_here).limit(1)
    with database.reading() as connection:
        if connection.execute(unsettled).first() is None:
            return 0
    with file.locked():
        _deliver_removals(database, file, is_here)
        written = 0
        while (count := _deliver_batch(database, file, is_here, place)) is not None:
            written += count
        return written


class Observations:
    """The file, which is created with the first record. Can be shared by threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.draft")
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_TIMEOUT_SECONDS, poll_interval=0.01)

    def place(self) -> str:
        """A name of the file that moves with its folder. Created on first use."""
        path = self._path.with_name(f".{self._path.name}.place")
        with self.locked():
            if not path.exists():
                path.write_text(secrets.token_hex(8), encoding="utf-8")
            return path.read_text(encoding="utf-8")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other writers out. Reentrant."""
        with translate_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                yield

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Append all records and sync, or none if it raises."""
        with self.locked():
            is_new = not self._path.exists()
            with _open_private(self._path) as file:
                _repair_last_line(file)
                _write_or_undo(file, b"".join(_line(record) for record in records))
            if is_new:
                _sync_folder(self._path.parent)

    def read(self) -> Iterator[dict[str, Any]]:
        """The records, oldest first. Skips other lines, and one that is being written."""
        return (record for line in self._lines() if (record := _parse(line)))

    def find(self, keys: set[Key]) -> set[Key]:
        """The keys that the file has a record for."""
        with self.locked():
            ids = [json.dumps(run_id, ensure_ascii=False).encode() for run_id, _ in keys]
            candidates = (line for line in self._lines() if any(run_id in line for run_id in ids))  # avoids parsing all
            return keys & {key for line in candidates if (key := _key(line))}

    def remove(self, keys: set[Key]) -> None:
        """Replace the file atomically by one without these records."""
        with self.locked():
            if not self._path.exists():
                return
            with self._path.open("ab+", buffering=0) as file:
                _repair_last_line(file)  # a torn record has no key
            with self._draft.open("wb") as draft:
                draft.writelines(line for line in self._lines() if _key(line) not in keys)
                draft.flush()
                os.fsync(draft.fileno())
            shutil.copymode(self._path, self._draft)
            self._draft.replace(self._path)
            _sync_folder(self._path.parent)

    def _lines(self) -> Iterator[bytes]:
        if self._path.exists():
            with self._path.open("rb") as file:
                yield from file


def _open_private(path: Path) -> FileIO:
    """To append. A new file is readable by its owner only. A buffer would be flushed again after a truncation."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    return os.fdopen(descriptor, "ab+", buffering=0)


def _line(record: dict[str, Any]) -> bytes:
    return json_line(record).encode() + b"\n"


def _parse(line: bytes) -> dict[str, Any] | None:
    """None for a line that is not a record."""
    try:
        record = json.loads(line)
        _ = str(record["run_id"]), int(record["attempt"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return dict(record)


def _key(line: bytes) -> Key | None:
    record = _parse(line)
    return (str(record["run_id"]), int(record["attempt"])) if record else None


def _repair_last_line(file: FileIO) -> None:
    """Cut off a torn record, or add a missing line end to a whole one."""
    last = _last_line(file)
    if last.endswith(b"\n") or not last:
        return
    if _is_torn(last):
        file.truncate(file.seek(0, os.SEEK_END) - len(last))
    else:
        file.write(b"\n")


def _is_torn(line: bytes) -> bool:
    if b"\0" in line:  # some file systems leave zeros after a power failure
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b"{")  # anything else was not written by us
    return False


def _last_line(file: FileIO) -> bytes:
    """The bytes after the last line end, or that line end if nothing follows it."""
    end, content = file.seek(0, os.SEEK_END), b""
    while end > 0 and b"\n" not in content:
        start = max(0, end - max(4096, len(content)))
        file.seek(start)
        content, end = file.read(end - start) + content, start
    head, newline, tail = content.rpartition(b"\n")
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


def _sync_folder(folder: Path) -> None:
    """A new or replaced file survives a power failure only after its folder was synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _record(run_id: str, attempt: int, observation: dict[str, Any]) -> dict[str, Any]:
    return {**to_jsonable_python(observation, inf_nan_mode="null"), "run_id": run_id, "attempt": attempt}


def _deliver_removals(database: Database, file: Observations, is_here: ColumnElement[bool]) -> None:
    withdrawn = select(outbox.c.number, outbox.c.run_id, outbox.c.attempt).where(outbox.c.state == WITHDRAWN, is_here)
    with database.reading() as connection:
        rows = connection.execute(withdrawn).all()
    if rows:
        file.remove({(row.run_id, row.attempt) for row in rows})
        _change_state(database, [row.number for row in rows], WITHDRAWN, REMOVED)


def _deliver_batch(
    database: Database, file: Observations, is_here: ColumnElement[bool], place: str | None
) -> int | None:
    """The number of records written, or None if the outbox is empty."""
    undelivered = select(outbox).where(outbox.c.state.in_((PENDING, DELIVERING)), is_here).order_by(outbox.c.number)
    with database.writing() as connection:
        rows = connection.execute(undelivered.limit(BATCH_SIZE).with_for_update(skip_locked=True)).all()
        numbers = [row.number for row in rows]
        taken = update(outbox).where(outbox.c.number.in_(numbers))
        connection.execute(taken.values(state=DELIVERING, place=place))
    if not rows:
        return None
    interrupted = {(row.run_id, row.attempt) for row in rows if row.state == DELIVERING}
    written = file.find(interrupted) if interrupted else set()
    missing = [row.record for row in rows if (row.run_id, row.attempt) not in written]
    if missing:
        file.append(missing)
    _change_state(database, numbers, DELIVERING, WRITTEN)
    return len(missing)


def _change_state(database: Database, numbers: Collection[int], before: str, after: str) -> None:
    """Only where the state is still `before`: a record may have been withdrawn meanwhile."""
    unchanged = (outbox.c.number == bindparam("which")) & (outbox.c.state == before)
    change = update(outbox).where(unchanged).values(state=after, record=None)
    with database.writing() as connection:
        connection.execute(change, [{"which": number} for number in numbers])
