"""The folder in which a backup collects what it holds. It exists while the backup is being made.

A backup that was killed leaves it behind, with copies of what may be forgotten since. So the next backup removes it,
and so does everything that forgets.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from veracity.errors import BusyLedgerError
from veracity.workspace import make_private_folder

NAME = ".backup"


@contextmanager
def snapshot_folder(ledger_folder: Path) -> Iterator[Path]:
    """An empty folder on the disk of the ledger. Raises `BusyLedgerError` while another backup is being made."""
    make_private_folder(ledger_folder)
    lock = _lock_of(ledger_folder)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise BusyLedgerError("Another backup of this workspace is being made: try again when it is done.") from None
    folder = ledger_folder / NAME
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def remove_leftovers(ledger_folder: Path) -> None:
    """Remove what a killed backup left. No-op while a backup is being made."""
    folder = ledger_folder / NAME
    if not folder.exists():
        return
    lock = _lock_of(ledger_folder)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()


def _lock_of(ledger_folder: Path) -> FileLock:
    return FileLock(ledger_folder / f"{NAME}.lock", thread_local=False)
