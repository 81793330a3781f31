"""Rows of uploaded files that workers ingest: queued → prepared → committing → done.

One job prepares the queued files of a slice, and one commits all files that are prepared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from veracity.errors import VeracityError, error_from_json, error_to_json
from veracity.ledger.leases import read_clock
from veracity.ledger.queue_tables import ingestions
from veracity.ledger.rows import upload_lists
from veracity.ledger.rows.job_table import JobTable
from veracity.models import Outcome

PREPARE_TASK, COMMIT_TASK = "veracity.prepare", "veracity.commit"
COMMIT_KEY = "commit"
MAX_ATTEMPTS = 5  # to prepare a file whose worker dies
KEEP_SECONDS = 3600.0  # results that nobody reads, because the server ended

State = Literal["queued", "prepared", "committing", "done"]


class QueuedFile(NamedTuple):
    ingestion_id: str
    name: str
    document_id: str


class Progress(NamedTuple):
    """Of one upload: the results so far by ingestion, what is not done yet, and the files of others before those."""

    results: dict[str, Outcome | VeracityError]
    waiting: list[str]
    ahead: int


class Ingestions(JobTable):
    def add(self, upload: str, user: str, files: Sequence[QueuedFile]) -> None:
        """Queue the files as one slice. Users take turns: a slice goes behind the slices of others that have as many
        of the same user before them."""
        with self._writing() as connection:
            waiting = select(func.count(ingestions.c.slice.distinct())).where(
                ingestions.c.user_name == user, ingestions.c.state == "queued"
            )
            priority = -connection.execute(waiting).scalar_one()
            slice_id = files[0].ingestion_id
            shared = {"upload": upload, "slice": slice_id, "user_name": user, "state": "queued", "attempts": 0}
            values = {**shared, "created": read_clock(connection)}
            connection.execute(insert(ingestions), [{**file._asdict(), **values} for file in files])
            self._defer_slice(connection, slice_id, priority)

    def queued(self, slice_id: str) -> list[QueuedFile]:
        """The files of a slice that are to be prepared."""
        return self._list(ingestions.c.slice == slice_id, ingestions.c.state == "queued")

    def replaced(self, files: Collection[QueuedFile]) -> set[str]:
        """Those of the files, by ingestion, for whose document an earlier upload is not done."""
        earlier = ingestions.alias()
        query = select(ingestions.c.ingestion_id).where(
            ingestions.c.ingestion_id.in_([file.ingestion_id for file in files]),
            select(earlier.c.number)
            .where(earlier.c.document_id == ingestions.c.document_id)
            .where(earlier.c.number < ingestions.c.number, earlier.c.state != "done")
            .exists(),
        )
        with self._reading() as connection:
            return set(connection.execute(query).scalars())

    def mark_prepared(self, ingestion_id: str) -> State | None:
        """The state of the file before; None if it was cancelled or forgotten."""
        with self._writing() as connection:
            query = select(ingestions.c.state).where(ingestions.c.ingestion_id == ingestion_id).with_for_update()
            state: State | None = connection.execute(query).scalar()
            if state == "queued":
                connection.execute(_update([ingestion_id]).values(state="prepared"))
                self._defer_commit(connection)
            return state

    def claim_prepared(self) -> list[QueuedFile]:
        """The files to commit now, oldest first. They can no longer be cancelled. Call it under the uploads' lock.

        A file whose document has an earlier upload that is not prepared has to wait for that.
        """
        earlier = ingestions.alias()
        ready = ingestions.c.state.in_(("prepared", "committing")) & ~(
            select(earlier.c.number)
            .where(earlier.c.document_id == ingestions.c.document_id)
            .where(earlier.c.number < ingestions.c.number, earlier.c.state == "queued")
            .exists()
        )
        with self._writing() as connection:
            query = select(ingestions).where(ready).order_by(ingestions.c.number).with_for_update()
            files = [_file(row) for row in connection.execute(query)]
            ids = [file.ingestion_id for file in files]
            connection.execute(_update(ids).values(state="committing"))
        return files

    def commit_later(self, seconds: int) -> None:
        with self._writing() as connection:
            self._defer_commit(connection, seconds)

    def prepare_again(self, ingestion_ids: Sequence[str]) -> None:
        """Queue files whose prepared rows cannot be used any more."""
        with self._writing() as connection:
            for ingestion_id in ingestion_ids:
                self._queue_again(connection, ingestion_id, ingestions.c.state == "committing")

    def finish(self, results: Mapping[str, Outcome | VeracityError]) -> None:
        """Store results, by ingestion. Those of files that were cancelled, forgotten or finished are dropped."""
        with self._writing() as connection:
            for ingestion_id, result in results.items():
                values = (
                    {"error": error_to_json(result)}
                    if isinstance(result, VeracityError)
                    else {"outcome": result.model_dump(mode="json")}
                )
                is_open = ingestions.c.state != "done"
                finish = _update([ingestion_id]).where(is_open).values(state="done", **values)
                if row := connection.execute(finish.returning(ingestions.c.name, ingestions.c.document_id)).first():
                    failed = Outcome(name=row.name, status="failed", reason=str(result))
                    outcome = failed if isinstance(result, VeracityError) else result
                    upload_lists.settle_document(connection, row.document_id, outcome)
            waiting = select(ingestions.c.number).where(ingestions.c.state == "prepared").limit(1)
            if connection.execute(waiting).first():  # perhaps for these, as later uploads of the same documents
                self._defer_commit(connection)

    def progress(self, upload: str) -> Progress:
        with self._reading() as connection:
            query = select(ingestions).where(ingestions.c.upload == upload).order_by(ingestions.c.number)
            rows = connection.execute(query).all()
            waiting = [row for row in rows if row.state != "done"]
            ahead = 0
            if waiting and waiting[0].state == "queued":
                others = (ingestions.c.upload != upload) & (ingestions.c.number < waiting[0].number)
                count = select(func.count()).where(others, ingestions.c.state != "done")
                ahead = connection.execute(count).scalar_one()
        results = {row.ingestion_id: _result(row) for row in rows if row.state == "done"}
        return Progress(results, [row.ingestion_id for row in waiting], ahead)

    def cancel(self, upload: str) -> list[QueuedFile]:
        """Remove the files of an upload that are not being committed. Returns them."""
        own = (ingestions.c.upload == upload) & ingestions.c.state.in_(("queued", "prepared"))
        with self._writing() as connection:
            return [_file(row) for row in connection.execute(delete(ingestions).where(own).returning(ingestions))]

    def remove(self, upload: str) -> None:
        """Remove the results of an upload."""
        done = (ingestions.c.upload == upload) & (ingestions.c.state == "done")
        with self._writing() as connection:
            connection.execute(delete(ingestions).where(done))

    def forget(self, connection: Connection, document_ids: Collection[str]) -> None:
        """Remove the uploads of these documents, whatever their state."""
        if self._optional_jobs is not None:
            self._jobs.prepare()
            connection.execute(delete(ingestions).where(ingestions.c.document_id.in_(document_ids)))

    def queue_lost(self) -> None:
        """Defer jobs for files that have none, because a worker died. Each of them is then a slice of its own, so that
        a file that ends its worker takes no others with it."""
        with self._reading() as connection:
            pending = connection.execute(select(ingestions).where(ingestions.c.state != "done")).all()
            if not pending:
                return
            slices = self._jobs.list_open(connection, PREPARE_TASK, "slice")
            commits = self._jobs.list_open(connection, COMMIT_TASK, "key")
        lost = [row for row in pending if row.state == "queued" and row.slice not in slices]
        hopeless = [row for row in lost if row.attempts + 1 >= MAX_ATTEMPTS]
        with self._writing() as connection:
            for row in lost:
                if row not in hopeless:  # another worker may have done it meanwhile
                    as_found = (ingestions.c.slice == row.slice) & (ingestions.c.attempts == row.attempts)
                    self._queue_again(connection, row.ingestion_id, as_found & (ingestions.c.state == "queued"))
            if not commits and any(row.state in ("prepared", "committing") for row in pending):
                self._defer_commit(connection)
        reason = "the workers that read it ended unexpectedly, several times"
        self.finish({row.ingestion_id: Outcome(name=row.name, status="failed", reason=reason) for row in hopeless})

    def list_open(self) -> set[str]:
        """The files that are not done."""
        with self._reading() as connection:
            return set(
                connection.execute(select(ingestions.c.ingestion_id).where(ingestions.c.state != "done")).scalars()
            )

    def remove_unread(self) -> None:
        """Remove results whose server ended before it could read them."""
        with self._writing() as connection:
            old = ingestions.c.created < read_clock(connection) - timedelta(seconds=KEEP_SECONDS)
            connection.execute(delete(ingestions).where(old, ingestions.c.state == "done"))

    def _list(self, *conditions: Any) -> list[QueuedFile]:
        with self._reading() as connection:
            query = select(ingestions).where(*conditions).order_by(ingestions.c.number)
            return [_file(row) for row in connection.execute(query)]

    def _queue_again(self, connection: Connection, ingestion_id: str, condition: ColumnElement[bool]) -> None:
        again = {"state": "queued", "slice": ingestion_id, "attempts": ingestions.c.attempts + 1}
        if connection.execute(_update([ingestion_id]).where(condition).values(again)).rowcount:
            self._defer_slice(connection, ingestion_id, self._jobs.FIRST)

    def _defer_slice(self, connection: Connection, slice_id: str, priority: int) -> None:
        self._jobs.defer(connection, PREPARE_TASK, "documents", {"slice": slice_id}, key=slice_id, priority=priority)

    def _defer_commit(self, connection: Connection, delay: int = 0) -> None:
        self._jobs.defer(
            connection,
            COMMIT_TASK,
            "commits",
            {"key": COMMIT_KEY},
            key=COMMIT_KEY,
            priority=self._jobs.FIRST,
            lock="veracity:commit",
            delay=delay,
        )


def _update(ingestion_ids: Sequence[str]) -> Any:
    return update(ingestions).where(ingestions.c.ingestion_id.in_(ingestion_ids))


def _file(row: Row[Any]) -> QueuedFile:
    return QueuedFile(row.ingestion_id, row.name, row.document_id)


def _result(row: Row[Any]) -> Outcome | VeracityError:
    return Outcome.model_validate(row.outcome) if row.error is None else error_from_json(row.error)
