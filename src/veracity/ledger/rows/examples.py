"""Rows of example questions: those that the documents were found to answer, and of which documents that holds.

One process at a time finds them: it claims the documents for a while, and another one may do so if it dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select, update

from veracity.ledger.database import Database
from veracity.ledger.leases import read_clock
from veracity.ledger.tables import example_questions, example_search
from veracity.models import ExampleQuestion

CLAIM_SECONDS = 600.0


class Examples:
    def __init__(self, database: Database) -> None:
        self._database = database

    def list_all(self) -> list[ExampleQuestion]:
        """In the order in which they were found."""
        if not self._database.exists:
            return []
        columns = [example_questions.c[name] for name in ExampleQuestion.model_fields]
        query = select(*columns).order_by(example_questions.c.number)
        with self._database.reading() as connection:
            return [ExampleQuestion.model_validate(dict(row)) for row in connection.execute(query).mappings()]

    def claim(self, documents: str) -> bool:
        """Whether the caller is to find examples of these documents, which a hash names: nobody has, or is at it."""
        if self._is_claimed(documents):  # without a write: servers ask every few seconds
            return False
        with self._database.writing(exclusive=True) as connection:  # there is no row to lock yet
            now = read_clock(connection)
            claimed = connection.execute(select(example_search).with_for_update()).one_or_none()
            if claimed and claimed.documents == documents and (claimed.expires is None or claimed.expires > now):
                return False
            values = {"documents": documents, "expires": now + timedelta(seconds=CLAIM_SECONDS)}
            connection.execute(update(example_search) if claimed else insert(example_search), values)
            return True

    def replace(self, documents: str, found: Sequence[ExampleQuestion]) -> None:
        """Store what was found instead of all earlier ones. No-op if others have claimed newer documents since."""
        with self._database.writing() as connection:
            claimed = connection.execute(select(example_search).with_for_update()).one_or_none()
            if claimed is None or claimed.documents != documents:
                return
            connection.execute(delete(example_questions))
            if found:
                connection.execute(insert(example_questions), [example.model_dump() for example in found])
            connection.execute(update(example_search).values(expires=None))

    def release(self, documents: str) -> None:
        """Let another process find the examples."""
        with self._database.writing() as connection:
            connection.execute(delete(example_search).where(example_search.c.documents == documents))

    def _is_claimed(self, documents: str) -> bool:
        if not self._database.exists:
            return False
        with self._database.reading() as connection:
            claimed = connection.execute(select(example_search)).one_or_none()
            if claimed is None or claimed.documents != documents:
                return False
            return claimed.expires is None or claimed.expires > read_clock(connection)


def forget(connection: Connection, document_ids: Sequence[str]) -> None:
    for document_id in document_ids:
        connection.execute(delete(example_questions).where(example_questions.c.document_id == document_id))
