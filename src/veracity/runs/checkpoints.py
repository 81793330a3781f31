"""The checkpoints of runs under way: the state from which another process resumes a run.

They are written with LangGraph's own savers and a strict serializer: a manipulated checkpoint yields only plain values
and messages. Every write is fenced: a process that lost its lease on the run cannot overwrite what the next one wrote.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.errors import LedgerError
from veracity.ledger.database import translate_errors
from veracity.ledger.sqlite import CHECKPOINTS_FILE, CHECKPOINTS_REMEDY, CHECKPOINTS_TIMEOUT_SECONDS
from veracity.workspace import make_private_folder

log = logging.getLogger("veracity")

Fence = Callable[[], AbstractContextManager[Any]]
COMPRESSED = "+zlib"
MIN_COMPRESSED = 1000  # bytes
_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON")


def no_writes() -> AbstractContextManager[Any]:
    """The fence of savers that only read and delete."""
    raise TypeError("This saver cannot write.")


def are_needed(writes: Sequence[tuple[str, Any]]) -> bool:
    """Whether a resumed run needs these writes: an interrupt, or what resumes it.

    LangGraph also hands in the result of each step, and then the checkpoint that contains it. The step of a process
    that dies between the two is done again.
    """
    return any(channel in WRITES_IDX_MAP for channel, _ in writes)


class Checkpoints(Protocol):
    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the savers raise if the checkpoints cannot be stored or read."""

    def explain(self, error: Exception) -> LedgerError:
        """One of `errors`, as a sentence."""

    def saver(self, fence: Fence = no_writes) -> BaseCheckpointSaver[Any]:
        """A saver for one run. Each write holds the fence. Without one it can only read and delete."""

    def run_ids(self) -> list[str]:
        """The runs that have checkpoints. Raises `LedgerError`."""

    def keep_latest(self, run_id: str) -> None:
        """Delete all but the checkpoint from which the run resumes."""

    def close(self) -> None: ...


class Serializer(JsonPlusSerializer):
    """Compresses large values: a run may wait for days, and most of its state is text. Reads uncompressed ones, too."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, content = super().dumps_typed(obj)
        if len(content) < MIN_COMPRESSED:
            return kind, content
        return kind + COMPRESSED, zlib.compress(content, level=1)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, content = data
        if kind.endswith(COMPRESSED):
            kind, content = kind.removesuffix(COMPRESSED), zlib.decompress(content)
        return super().loads_typed((kind, content))


class _FencedSqliteSaver(SqliteSaver):
    fence: Fence = staticmethod(no_writes)

    def put(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        with self.fence():
            return super().put(*args, **kwargs)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        if are_needed(writes):
            with self.fence():
                super().put_writes(config, writes, task_id, task_path)


class SqliteCheckpoints:
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, folder: Path) -> None:
        path = folder / CHECKPOINTS_FILE
        with translate_errors(path, CHECKPOINTS_REMEDY):
            make_private_folder(folder)
            # Two processes must not switch to WAL at the same time.
            with FileLock(folder / ".checkpoints.lock", timeout=CHECKPOINTS_TIMEOUT_SECONDS):
                self._connection = _open_or_replace(path)
        self._using = threading.Lock()  # of all savers, which share the connection

    def explain(self, error: Exception) -> LedgerError:
        return LedgerError(f"The progress of the run cannot be stored ({error}): ask again.")

    def saver(self, fence: Fence = no_writes) -> BaseCheckpointSaver[Any]:
        saver = _FencedSqliteSaver(self._connection, serde=Serializer())
        saver.fence, saver.lock, saver.is_setup = fence, self._using, True
        return saver

    def run_ids(self) -> list[str]:
        with translate_errors(Path(CHECKPOINTS_FILE), CHECKPOINTS_REMEDY), self._using:
            rows = self._connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
        return [run_id for (run_id,) in rows]

    def keep_latest(self, run_id: str) -> None:
        newest = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ''"
        others = f"thread_id = ?1 AND NOT (checkpoint_ns = '' AND checkpoint_id = ({newest}))"
        with self._using, self._connection:
            for table in ("writes", "checkpoints"):
                self._connection.execute(f"DELETE FROM {table} WHERE {others}", (run_id,))

    def close(self) -> None:
        with self._using:  # SQLite crashes the process if a connection is closed while in use
            self._connection.close()


def _open_or_replace(path: Path) -> sqlite3.Connection:
    """A damaged file is kept under another name. Only unfinished runs lose their progress."""
    try:
        return _open(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # such as a full disk: the file may be fine
            raise
        damaged = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        path.replace(damaged)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        log.warning('"%s" is damaged (%s). It was renamed to %s: delete it.', path, error, damaged.name)
        return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=CHECKPOINTS_TIMEOUT_SECONDS, check_same_thread=False)
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        SqliteSaver(connection).setup()
        connection.execute("SELECT count(*) FROM checkpoints").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
