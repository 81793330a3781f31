"""Where LangGraph keeps the progress of runs under way, in SQLite. A finished run's is removed: the ledger lasts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.errors import LedgerError

PATIENCE = 30.0  # seconds to wait for another process that writes


def open_checkpoints(folder: Path) -> SqliteSaver:
    """Strict: nothing but plain values and messages comes back, whatever a manipulated file may hold."""
    path = folder / "checkpoints.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
        saver = SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        saver.setup()
    except (OSError, sqlite3.Error) as problem:
        raise LedgerError(
            f'The progress of runs cannot be kept in "{path}" ({problem}): make it writable, or remove it if no run is '
            "under way."
        ) from None
    return saver
