"""Named locks that all machines share: advisory locks in the Postgres database of the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from veracity.ledger.notifications import CHANNEL
from veracity.ledger.postgres import connect_alone, translate_postgres_errors
from veracity.models import LedgerChange

POLL_SECONDS = 0.1
_NOTIFY = f"SELECT pg_notify({CHANNEL}, %s)"
_DOCUMENTS = LedgerChange(kind="documents").model_dump_json()
_TRY = "SELECT pg_try_advisory_lock(hashtextextended('veracity:lock:' || current_schema() || ':' || %s::text, 0))"


class PostgresLock:
    """Each lock that is held has a connection of its own: Postgres releases it when the process dies. The locks guard
    documents and uploads: when one is released, other processes are told that documents may have changed."""

    def __init__(self, url: str) -> None:
        self._url = url

    @contextmanager
    def __call__(self, name: str, timeout_seconds: float) -> Iterator[None]:
        """Hold the lock of this name. Raises `TimeoutError` if another process or thread holds it for longer, and
        `LedgerError` if Postgres cannot be used."""
        with translate_postgres_errors(self._url):
            connection = connect_alone(self._url)
        try:
            deadline = time.monotonic() + timeout_seconds
            while not self._try(connection, name):
                if time.monotonic() >= deadline:
                    raise TimeoutError(f'The lock "{name}" is held by another process.')
                time.sleep(POLL_SECONDS)
            try:
                yield
            finally:
                with suppress(psycopg.Error):  # a hint: listeners look by themselves after a while
                    connection.execute(_NOTIFY, (_DOCUMENTS,))
        finally:
            connection.close()

    def _try(self, connection: psycopg.Connection[Any], name: str) -> bool:
        with translate_postgres_errors(self._url):
            row = connection.execute(_TRY, (name,)).fetchone()
        return bool(row and row[0])
