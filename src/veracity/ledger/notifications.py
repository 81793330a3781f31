"""Changes that one process makes and others wait for: LISTEN and NOTIFY in Postgres.

A notification is a hint to look. It is lost if its sender is killed, and if its receiver is not connected. So whoever
waits must look again after each reconnection, and after a while.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from veracity.errors import VeracityError
from veracity.models import LedgerChange

log = logging.getLogger("veracity")

RECONNECT_SECONDS = 1.0
CHECK_SECONDS = 0.5  # between checks whether to stop
CLOSE_SECONDS = 10.0
PAUSE_SECONDS = 0.02  # between two transactions with notifications
IDLE_SECONDS = 30.0
CHANNEL = "'veracity_' || md5(current_schema())"  # other workspaces may share the database
EVERYTHING = LedgerChange(kind="all")
_NOTIFY = sa.text(f"SELECT pg_notify({CHANNEL}, content) FROM unnest(CAST(:contents AS text[])) AS content")


class ChangeSender:
    """Sends notifications after the transactions that make the changes, on a thread of its own.

    Postgres lets transactions with notifications commit one after the other, in all databases of a server. In those
    that write, each would wait for the others to reach the disk. These reach no disk, and take along what gathers
    during the pause between them.
    """

    def __init__(self, open_engine: Callable[[], sa.Engine]) -> None:
        self._open_engine = open_engine
        self._changed = threading.Condition()
        self._pending: dict[LedgerChange, None] = {}
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def send(self, changes: Iterable[LedgerChange]) -> None:
        """Returns at once."""
        with self._changed:
            self._pending.update(dict.fromkeys(changes))
            if not self._pending:
                return
            self._changed.notify()
            if self._thread is None:
                self._is_closing = False
                self._thread = threading.Thread(target=self._run, name="veracity-notify", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Sends what is left."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while pending := self._take():
            try:
                with self._open_engine().begin() as connection:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                    connection.execute(_NOTIFY, {"contents": [change.model_dump_json() for change in pending]})
            except (SQLAlchemyError, psycopg.Error, VeracityError) as error:
                log.debug("Other processes could not be notified: %s", error)

    def _take(self) -> list[LedgerChange]:
        """Empty if there is nothing to send for a while: then the thread ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, PAUSE_SECONDS)
            self._changed.wait_for(lambda: self._pending or self._is_closing, IDLE_SECONDS)
            pending, self._pending = list(self._pending), {}
            if not pending:
                self._thread = None
            return pending


class ChangeListener:
    """Calls `on_change` on a thread of its own, until close()."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], on_change: Callable[[LedgerChange], None]
    ) -> None:
        self._connect = connect
        self._on_change = on_change
        self._closing = threading.Event()
        self._is_connected = False
        self._thread = threading.Thread(target=self._run, name="veracity-listen", daemon=True)
        self._thread.start()

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    def close(self) -> None:
        self._closing.set()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with self._connect() as connection:
                    self._listen(connection)
            except psycopg.Error as error:
                log.debug("Changes by other processes cannot be received: %s", error)
            self._is_connected = False
            self._on_change(EVERYTHING)  # whoever waits looks more often now
            self._closing.wait(RECONNECT_SECONDS)

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        [channel] = connection.execute(f"SELECT {CHANNEL}").fetchone() or [""]
        connection.execute(f'LISTEN "{channel}"')
        self._is_connected = True
        self._on_change(EVERYTHING)
        while not self._closing.is_set():
            for notification in connection.notifies(timeout=CHECK_SECONDS):
                self._on_change(_parse(notification.payload))


def _parse(content: str) -> LedgerChange:
    """A newer version may send what this one does not know."""
    try:
        return LedgerChange.model_validate_json(content)
    except ValidationError:
        return EVERYTHING
