"""Rows of the files of each person's last upload: waiting → received → an outcome, or cancelled.

A list is kept until the person dismisses it or begins another upload. Each row has the id that the file's document has
or would have, so that forgetting the document removes its name from here, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from veracity.errors import InputError
from veracity.ledger.database import Database
from veracity.ledger.tables import normalize_user, upload_files
from veracity.models import AnnouncedFile, ListedFile, Outcome, UploadList

MAX_FILES = 10_000  # in one list
MAX_NAME_LENGTH = 200
MAX_REASON_LENGTH = 500
BATCH_SIZE = 500
OPEN = ("waiting", "received")


class UploadLists:
    """Can be shared by threads, and a workspace by processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, user: str) -> UploadList | None:
        with self._database.reading() as connection:
            return _read(connection, user)

    def announce(self, user: str, files: Sequence[AnnouncedFile], to: str = "") -> UploadList:
        """Add files to the list with the id `to`, if that is the person's last one. Otherwise begin a new list, which
        replaces the last one. Raises `InputError` for too many files."""
        own = upload_files.c.user_name == normalize_user(user)
        with self._database.writing(exclusive=True) as connection:  # numbers are given in order
            last = connection.execute(select(upload_files.c.upload).where(own).limit(1)).scalar()
            if not to or last != to:
                connection.execute(delete(upload_files).where(own))
                to = secrets.token_hex(8)
            count = connection.execute(select(func.count(upload_files.c.number)).where(own)).scalar_one()
            if count + len(files) > MAX_FILES:
                message = f"An upload can have up to {MAX_FILES:,} files: add fewer at a time."
                raise InputError(message, "too_many_files", n=MAX_FILES)
            first = (connection.execute(select(func.max(upload_files.c.number)).where(own)).scalar() or 0) + 1
            rows = [_row(user, to, first + at, file) for at, file in enumerate(files)]
            connection.execute(insert(upload_files), rows)
            return _read(connection, user) or UploadList(id=to, files=[])

    def receive(self, user: str, upload: str, numbers: Collection[int]) -> None:
        """The server has these files."""
        self._update(_files(user, upload, numbers), status="received", reason="")

    def settle(self, user: str, upload: str, number: int, outcome: Outcome, *, is_cancelled: bool = False) -> None:
        """Store what became of a file. No-op if the list was dismissed or replaced."""
        values = {"status": "cancelled", "reason": ""} if is_cancelled else _result(outcome)
        self._update(_files(user, upload, [number]), **values)

    def settle_document(self, document_id: str, outcome: Outcome) -> None:
        """Store the outcome of a file whose server ended before it could."""
        with self._database.writing() as connection:
            settle_document(connection, document_id, outcome)

    def cancel(self, user: str, upload: str) -> None:
        """The files without an outcome get none, except one that is being read."""
        self._update(_files(user, upload) & upload_files.c.status.in_(OPEN), status="cancelled")

    def dismiss(self, user: str, upload: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(upload_files).where(_files(user, upload)))

    def _update(self, which: ColumnElement[bool], **values: str) -> None:
        with self._database.writing() as connection:
            connection.execute(update(upload_files).where(which).values(values))


def settle_document(connection: Connection, document_id: str, outcome: Outcome) -> None:
    lost = (upload_files.c.document_id == document_id) & (upload_files.c.status == "received")
    connection.execute(update(upload_files).where(lost).values(_result(outcome)))


def forget(connection: Connection, document_ids: Sequence[str]) -> None:
    """Remove the files of these documents from all lists."""
    for start in range(0, len(document_ids), BATCH_SIZE):
        batch = document_ids[start : start + BATCH_SIZE]
        connection.execute(delete(upload_files).where(upload_files.c.document_id.in_(batch)))


def remove_user(connection: Connection, user: str) -> None:
    connection.execute(delete(upload_files).where(upload_files.c.user_name == normalize_user(user)))


def _read(connection: Connection, user: str) -> UploadList | None:
    own = upload_files.c.user_name == normalize_user(user)
    rows = connection.execute(select(upload_files).where(own).order_by(upload_files.c.number)).all()
    files = [ListedFile.model_validate(row._mapping) for row in rows]
    return UploadList(id=rows[0].upload, files=files) if rows else None


def _files(user: str, upload: str, numbers: Collection[int] | None = None) -> ColumnElement[bool]:
    own = (upload_files.c.user_name == normalize_user(user)) & (upload_files.c.upload == upload)
    return own if numbers is None else own & upload_files.c.number.in_(numbers)


def _row(user: str, upload: str, number: int, file: AnnouncedFile) -> dict[str, object]:
    status = "failed" if file.reason else "waiting"
    shared = {"user_name": normalize_user(user), "upload": upload, "number": number, "status": status}
    return {**file.model_dump(), **shared, "name": file.name[:MAX_NAME_LENGTH]}


def _result(outcome: Outcome) -> dict[str, str]:
    document = {"document_id": outcome.document_id} if outcome.document_id else {}
    return {"status": outcome.status, "reason": outcome.reason[:MAX_REASON_LENGTH], **document}
