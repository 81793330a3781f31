"""Where LangGraph keeps the progress of runs under way, in SQLite. A finished run's is removed: the ledger lasts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from filelock import FileLock
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.ledger.complaints import explained
from veracity.ledger.progress import FILE, PATIENCE, REMEDY


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
