"""Where LangGraph keeps the progress of runs under way, in SQLite. A finished run's is removed: the ledger lasts."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection
from pathlib import Path

from filelock import FileLock
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.ledger.complaints import explained

FILE = "checkpoints.sqlite"
REMEDY = "remove it: only runs under way lose their progress."
PATIENCE = 30.0  # seconds to wait for another process that writes


def open_checkpoints(folder: Path) -> SqliteSaver:
    """Strict: nothing but plain values and messages comes back, whatever a manipulated file may hold."""
    path = folder / FILE
    with explained(path, REMEDY):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".checkpoints.lock", timeout=PATIENCE):  # switching to WAL is not safe for two at once
            connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")
            saver = SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
            saver.setup()
    return saver


def threads(saver: SqliteSaver) -> list[str]:
    """The runs that progress is kept of."""
    with explained(Path(FILE), REMEDY), saver.cursor(transaction=False) as cursor:
        return [run_id for (run_id,) in cursor.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()]


def scrub_checkpoints(folder: Path, spare: Collection[str] = ()) -> None:
    """Remove all progress, of killed runs too, and its bytes from the disk; but not that of the runs in `spare`, which
    wait for a person. Runs under way go on: they only need it to be taken up again."""
    path = folder / FILE
    if not path.exists():
        return
    with (
        explained(path),
        contextlib.closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection,
    ):
        connection.execute("CREATE TEMP TABLE spared (thread_id TEXT PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO spared VALUES (?)", [(run_id,) for run_id in spare])
        connection.execute("BEGIN IMMEDIATE")
        for table in ("checkpoints", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id NOT IN (SELECT thread_id FROM spared)")
        for statement in ("COMMIT", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            connection.execute(statement)
