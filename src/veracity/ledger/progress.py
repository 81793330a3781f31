"""The progress of runs under way, which lies in a file beside the ledger: where, and how it goes when something is
forgotten. Knows nothing about what it says.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection
from pathlib import Path

from veracity.ledger.complaints import explained
from veracity.ledger.database import write_anew

FILE = "checkpoints.sqlite"
REMEDY = "remove it: only runs under way lose their progress."
PATIENCE = 30.0  # seconds to wait for another process that uses it


def scrub(folder: Path, spare: Collection[str] = ()) -> None:
    """Remove all progress, of killed runs too, and its bytes from the disk; but not that of the runs in `spare`, which
    wait for a person. Runs under way go on: they only need it to be taken up again."""
    path = folder / FILE
    if not path.exists():
        return
    with (
        explained(path, REMEDY),
        contextlib.closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection,
    ):
        connection.execute("CREATE TEMP TABLE spared (thread_id TEXT PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO spared VALUES (?)", [(run_id,) for run_id in spare])
        connection.execute("BEGIN IMMEDIATE")
        for table in ("checkpoints", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id NOT IN (SELECT thread_id FROM spared)")
        connection.execute("COMMIT")
        write_anew(connection, path)
