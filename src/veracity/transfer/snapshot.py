"""Collects the state of a workspace at one moment, while other processes use it.

Nothing is forgotten and no upload is stored meanwhile, for as long as the databases are copied. The order is:

1. The ledger, the checkpoints and the observations, at the same moment: while the write lock of the ledger is held, no
   run can store its progress, and while the lock of the observations is held, none can be delivered.
2. The documents, at their newest version. They are newer than the ledger, so what it cites is there.
3. The uploads. Their lock has been held from the beginning, so they are those of the documents.

Files that are never changed, only replaced, are collected as hard links.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from veracity.knowledge.location import FolderLocation
from veracity.knowledge.purge import FORGOTTEN
from veracity.knowledge.store import TABLE_FOLDER, Store
from veracity.knowledge.uploads import Uploads
from veracity.ledger import Observations
from veracity.ledger.database import BUSY_SECONDS, translate_errors
from veracity.ledger.journal import JOURNAL_FILE, Journal
from veracity.ledger.sqlite import CHECKPOINTS_FILE, SqliteDatabase
from veracity.transfer.archive import OBSERVATIONS
from veracity.workspace import CHAT_HISTORY_FILE, Workspace

LEDGER_FILE = "ledger.sqlite"
UPLOADS_TIMEOUT_SECONDS = 120.0  # an upload holds its lock while it is read
ATTEMPTS = 5
IGNORED_UPLOADS = ("lock", "written", "copy")  # temporary files in .aside


class Collected(NamedTuple):
    """`size` limits a file that may have been extended since."""

    name: str
    path: Path
    size: int | None = None


def take_snapshot(workspace: Workspace, folder: Path) -> list[Collected]:
    """The files of the workspace, in the folder or where they are never changed. Raises `BusyError`, `LedgerError` or
    `OSError`."""
    ledger, journal = workspace.ledger_folder, Journal(workspace.ledger_folder)
    with SqliteDatabase(ledger).reading():  # refuses a ledger that was moved or is newer
        pass
    for name in ("ledger", "knowledge", "uploads"):
        (folder / name).mkdir(mode=0o700)
    with ExitStack() as uploading:
        uploading.enter_context(Uploads(workspace.uploads_folder, 1).lock(UPLOADS_TIMEOUT_SECONDS))
        with journal.locked(), ExitStack() as pinned:
            with Observations(workspace.observations_file).locked():
                databases = _pin(ledger, pinned)
                observations = _collect_observations(workspace, folder)
            for name in (JOURNAL_FILE, CHAT_HISTORY_FILE):
                if (ledger / name).is_file():
                    shutil.copy2(ledger / name, folder / "ledger" / name)
            _collect_documents(workspace.knowledge_folder, folder / "knowledge")
            _collect_uploads(workspace.uploads_folder, folder / "uploads")
            uploading.close()
            for name, source in databases.items():
                _copy_database(source, folder / "ledger" / name)
    _tidy_documents(folder / "knowledge")
    copied = (path for name in ("ledger", "knowledge", "uploads") for path in _files(folder / name))
    return [
        *(Collected(path.relative_to(folder).as_posix(), path) for path in copied),
        *observations,
        *_collect_configuration(workspace),
    ]


def _pin(folder: Path, stack: ExitStack) -> dict[str, sqlite3.Connection]:
    """Connections to the databases that see the state of one moment. The write lock is held only for that moment."""
    pinned: dict[str, sqlite3.Connection] = {}
    if not (folder / LEDGER_FILE).exists():
        return pinned
    with translate_errors(folder), closing(_connect(folder / LEDGER_FILE)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        for name in (LEDGER_FILE, CHECKPOINTS_FILE):
            if (folder / name).exists():
                connection = stack.enter_context(closing(_connect(folder / name)))
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                pinned[name] = connection
        writer.execute("ROLLBACK")
    return pinned


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _copy_database(source: sqlite3.Connection, path: Path) -> None:
    with translate_errors(path), closing(sqlite3.connect(path)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file; opening it switches to WAL again
    path.chmod(0o600)


def _collect_observations(workspace: Workspace, folder: Path) -> list[Collected]:
    """The file only grows, or is replaced."""
    path = workspace.observations_file
    place = path.with_name(f".{path.name}.place")
    collected = [Collected(place.name, place)] if place.is_file() else []
    if path.is_file():
        size = path.stat().st_size
        link_or_copy(path, folder / OBSERVATIONS)
        collected.append(Collected(OBSERVATIONS, folder / OBSERVATIONS, size))
    return collected


def _collect_documents(source: Path, target: Path) -> None:
    """Files of a table are written before the version that names them, and deleted with the last version that does. So
    what was listed and could be linked is complete, unless another process deletes old versions meanwhile."""
    for _ in range(ATTEMPTS - 1):
        try:
            _link_table(source / TABLE_FOLDER, target / TABLE_FOLDER)
            Store(target, 1, {}).require_complete()
        except Exception:  # noqa: BLE001 - LanceDB has many ways to say that a file is missing
            shutil.rmtree(target / TABLE_FOLDER, ignore_errors=True)
        else:
            break
    else:
        _link_table(source / TABLE_FOLDER, target / TABLE_FOLDER)
        Store(target, 1, {}).require_complete()
    if (source / FORGOTTEN).exists():
        (target / FORGOTTEN).touch()


def _link_table(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    versions = list((source / "_versions").glob("*.manifest"))  # without a hint at the latest, which is overwritten
    others = [path for path in _files(source) if path.parent.name != "_versions"]
    for path in (*others, *versions):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        link_or_copy(path, copy)


def _tidy_documents(folder: Path) -> None:
    """Leave one version, and no bytes of forgotten documents."""
    store, mark = Store(FolderLocation(folder), 1, {}), folder / FORGOTTEN
    if not (folder / TABLE_FOLDER).is_dir():
        mark.unlink(missing_ok=True)
    elif mark.exists():
        store.purge()
    else:
        store.maintain(purge=True)


def _collect_uploads(source: Path, target: Path) -> None:
    for path in _files(source):
        name = path.relative_to(source)
        if name.parent == Path() or (name.parts[0] == ".aside" and path.name not in IGNORED_UPLOADS):
            copy = target / name
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            link_or_copy(path, copy)


def _collect_configuration(workspace: Workspace) -> Iterator[Collected]:
    if workspace.settings_file.is_file():
        yield Collected(workspace.settings_file.name, workspace.settings_file)
    for folder in (workspace.evaluator_file.parent, workspace.metrics_folder, workspace.prompts_folder):
        for path in _files(folder):
            if "__pycache__" not in path.parts:
                yield Collected(path.relative_to(workspace.root).as_posix(), path)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def link_or_copy(path: Path, copy: Path) -> None:
    try:
        os.link(path.resolve(), copy)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, or a file system without hard links
        shutil.copy2(path, copy)


@contextmanager
def opened_ledger(path: Path) -> Iterator[sqlite3.Connection]:
    """A ledger of a snapshot or a backup, to read it as it is."""
    with translate_errors(path), closing(sqlite3.connect(path)) as connection:
        yield connection
