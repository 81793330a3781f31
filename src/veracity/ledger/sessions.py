"""Owners of runs that share a Postgres database: each holds an advisory lock in a session of its own.

Postgres releases the lock when the session ends: at once if the process dies, after seconds if its machine is cut off.
The connection must not go through a pooler that shares sessions, such as PgBouncer in transaction mode.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from pathlib import Path
from typing import Any

import psycopg

from veracity.ledger.postgres import connect_alone, translate_postgres_errors

_KEY = "hashtextextended('veracity:owner:' || %s::text, 0)"
_END_SESSION = f"""
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
    AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = {_KEY}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_inherited: list[psycopg.Connection[Any]] = []  # after a fork: closing these would end the parent's session


class SessionOwners:
    def __init__(self, url: str) -> None:
        self._url = url
        self.host = socket.gethostname()
        self.former_names: set[str] = set()
        self.abandoned: set[tuple[str, int]] = set()
        self._using = threading.Lock()
        self._name = ""
        self._pid = os.getpid()
        self._session: psycopg.Connection[Any] | None = None

    @property
    def name(self) -> str:
        return self._name if self._pid == os.getpid() else ""

    def register(self) -> str:
        """A session that was lost is replaced by one with another name: the runs of the old name may be gone."""
        self._detach_after_fork()
        with self._using, translate_postgres_errors(self._url):
            if self._session is None or self._session.closed:
                self._discard()
                self._open()
            return self._name

    def check(self) -> str:
        """Like register(), but finds out whether the session was lost."""
        self._detach_after_fork()
        with self._using, translate_postgres_errors(self._url):
            try:
                if self._session is not None:
                    self._session.execute("SELECT 1")
            except psycopg.Error:
                self._discard()
            if self._session is None or self._session.closed:
                self._discard()
                self._open()
            return self._name

    def is_alive(self, name: str) -> bool:
        if name == self.name:
            return True
        rows = self._execute(f"SELECT pg_try_advisory_xact_lock_shared({_KEY})", name)
        return not rows[0][0]

    def evict(self, name: str) -> None:
        """End the session of a process that hangs, if it has one."""
        if name != self.name:
            self._execute(_END_SESSION, name)

    def close(self) -> None:
        self._detach_after_fork()
        with self._using:
            self._discard()
            self.former_names.clear()

    def _execute(self, statement: str, name: str) -> list[Any]:
        """On the session's connection, or on a new one if it is lost or there is none."""
        with self._using, translate_postgres_errors(self._url):
            self._detach_locked()
            if self._session is not None and not self._session.closed:
                with contextlib.suppress(psycopg.OperationalError):
                    return self._session.execute(statement, (name,)).fetchall()
                self._discard()
            with connect_alone(self._url) as connection:
                return connection.execute(statement, (name,)).fetchall()

    def _open(self) -> None:
        session = connect_alone(self._url)
        name = f"pg-{secrets.token_hex(8)}"
        session.execute(f"SELECT pg_advisory_lock({_KEY})", (name,))
        self._session, self._name = session, name

    def _discard(self) -> None:
        if self._session is not None:
            with contextlib.suppress(psycopg.Error):
                self._session.close()
        if self._name:
            self.former_names.add(self._name)
        self._session, self._name = None, ""

    def _detach_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._using = threading.Lock()  # a thread of the parent may have held it
            self._detach_locked()

    def _detach_locked(self) -> None:
        if self._pid != os.getpid():
            if self._session is not None:
                # The parent's session must end with the parent, and must not be ended by this process.
                with contextlib.suppress(psycopg.Error, OSError), Path(os.devnull).open("rb") as nothing:
                    os.dup2(nothing.fileno(), self._session.fileno())
                _inherited.append(self._session)
            self._session, self._name, self._pid = None, "", os.getpid()
            self.former_names = set()
