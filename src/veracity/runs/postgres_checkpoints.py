"""Checkpoints in the Postgres database of the ledger."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from veracity.errors import LedgerError
from veracity.ledger.database import BUSY_SECONDS
from veracity.ledger.postgres import (
    KEEPALIVE,
    SERVER_KEEPALIVE,
    connect_alone,
    explain_postgres_error,
    libpq_url,
    translate_postgres_errors,
)
from veracity.runs.checkpoints import Fence, Serializer, are_needed, no_writes

MAX_CONNECTIONS = 8
POLL_SECONDS = 0.05
RECONNECT_SECONDS = 1.0
_LOCK = "hashtextextended('veracity:checkpoints:' || current_schema(), 0)"


class _FencedPostgresSaver(PostgresSaver):
    """Writes on the connection of the fence: a checkpoint is stored in the transaction that checks the token."""

    fence: Fence = staticmethod(no_writes)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, _: ChannelVersions
    ) -> RunnableConfig:
        """Stores the whole state: forgetting may have deleted what earlier checkpoints of the run stored."""
        with self.fence() as connection:
            writer = PostgresSaver(connection, serde=self.serde)
            return writer.put(config, checkpoint, metadata, checkpoint["channel_versions"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        if are_needed(writes):
            with self.fence() as connection:
                PostgresSaver(connection, serde=self.serde).put_writes(config, writes, task_id, task_path)


class PostgresCheckpoints:
    """One saver per run on a shared pool: a saver that threads share would execute one statement at a time."""

    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        self._url = url
        with translate_postgres_errors(url):
            _create_tables(url)
        self._pool: ConnectionPool[Any] = ConnectionPool(
            libpq_url(url),
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=BUSY_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,  # the pool would wait longer each time, and its users with it
            kwargs={**KEEPALIVE, "autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            configure=_configure,
            check=ConnectionPool.check_connection,  # a restarted server leaves dead connections in the pool
            open=True,
        )

    def explain(self, error: Exception) -> LedgerError:
        return explain_postgres_error(self._url, error)

    def saver(self, fence: Fence = no_writes) -> BaseCheckpointSaver[Any]:
        saver = _FencedPostgresSaver(self._pool, serde=Serializer())
        saver.fence = fence
        return saver

    def run_ids(self) -> list[str]:
        with translate_postgres_errors(self._url), self._pool.connection() as connection:
            rows = connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
        return [row["thread_id"] for row in rows]

    def keep_latest(self, run_id: str) -> None:
        self.saver().prune([run_id], strategy="keep_latest")

    def close(self) -> None:
        self._pool.close()


def _configure(connection: psycopg.Connection[Any]) -> None:
    """A failure of the database's machine may lose the last milliseconds of progress: the step is done again."""
    connection.execute(f"SET synchronous_commit = off; {SERVER_KEEPALIVE}", prepare=False)


def _create_tables(url: str) -> None:
    """Polls for the lock: a process that waits for it would block another one's CREATE INDEX CONCURRENTLY."""
    deadline = time.monotonic() + BUSY_SECONDS
    with connect_alone(url) as connection:
        while not connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})").fetchone()[0]:  # type: ignore[index]
            if time.monotonic() > deadline:
                raise psycopg.errors.LockNotAvailable("another process creates the tables")
            time.sleep(POLL_SECONDS)
        connection.row_factory = dict_row
        PostgresSaver(connection).setup()
