"""`veracity backup`: one file with everything in a workspace, made while servers and commands use it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from veracity.errors import ConfigurationError, InputError, LedgerError
from veracity.knowledge.store import TABLE_FOLDER, Store
from veracity.ledger.snapshot_folder import snapshot_folder
from veracity.ledger.sqlite import CHECKPOINTS_FILE
from veracity.settings import load_settings
from veracity.settings.store import StoreSettings
from veracity.settings.toml import read_bytes
from veracity.transfer.archive import (
    Counts,
    Manifest,
    check_archive,
    describe,
    explain_failed_write,
    is_safe,
    write_archive,
)
from veracity.transfer.snapshot import LEDGER_FILE, opened_ledger, take_snapshot
from veracity.version import __version__
from veracity.workspace import Workspace, require_existing_workspace

ELSEWHERE = (
    "store.{setting} is not in this workspace, so its backup would not contain that: back up Postgres with "
    "pg_dump and the bucket with versioning, as docs/backup.md describes."
)


class Backup(BaseModel):
    """`size` is that of the file, `content_size` that of what it holds."""

    model_config = ConfigDict(frozen=True)

    file: Path
    created: datetime
    size: int
    content_size: int
    counts: Counts


def back_up(directory: Path | None, file: Path, *, force: bool = False) -> Backup:
    """Write a backup of the workspace, and read it back before it gets its name. An existing file is replaced only with
    `force`. Raises `VeracityError`: then there is no new file."""
    workspace = Workspace(require_existing_workspace(directory))
    require_embedded(load_settings(read_bytes(workspace.settings_file), workspace.settings_file).store)
    file = Path(os.path.abspath(file))  # noqa: PTH100 - without its "..", and a link keeps its name
    _require_target(file, workspace, force=force)
    try:
        with snapshot_folder(workspace.ledger_folder) as folder:
            created = datetime.now(UTC)
            collected = [item for item in take_snapshot(workspace, folder) if _require_name(item.name)]
            schema, counts = check_content(folder)
            manifest = Manifest(
                created=created,
                veracity=__version__,
                ledger_schema=schema,
                counts=counts,
                files=[describe(*item) for item in collected],
            )
            with _written(file, force=force) as partial:
                write_archive(partial, manifest, [item.path for item in collected])
                check_archive(partial)
    except OSError as error:
        raise explain_failed_write(Path(error.filename or file), error) from None
    return Backup(file=file, created=created, size=file.stat().st_size, content_size=manifest.size, counts=counts)


def require_embedded(store: StoreSettings) -> None:
    for setting in ("ledger", "knowledge", "uploads"):
        if getattr(store, setting):
            raise ConfigurationError(ELSEWHERE.format(setting=setting))


def check_content(folder: Path) -> tuple[int, Counts]:
    """The version of the ledger's tables and what there is. Raises `LedgerError` or `KnowledgeError` for what is
    damaged. `folder` has the form of a workspace."""
    schema = 0
    counts: dict[str, int] = {}
    for name in (LEDGER_FILE, CHECKPOINTS_FILE):
        path = folder / "ledger" / name
        if path.exists():
            with opened_ledger(path) as connection:
                (state,) = connection.execute("PRAGMA integrity_check").fetchone()
                if state != "ok":
                    raise LedgerError(
                        f'"{name}" is damaged ({state.splitlines()[0][:100]}): restore an earlier backup.'
                    )
                if name == LEDGER_FILE:
                    (schema,) = connection.execute("SELECT max(version) FROM ledger_version").fetchone()
                    counts = _count_rows(connection)
    documents = Store(folder / "knowledge", 1, {})
    if (folder / "knowledge" / TABLE_FOLDER).is_dir():
        documents.require_complete()
    known = documents.documents()
    uploads = sum(path.is_file() for path in (folder / "uploads").glob("*"))
    passages = sum(document.passages for document in known)
    return schema, Counts(documents=len(known), passages=passages, uploads=uploads, **counts)


def _count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    queries = {
        "runs": "SELECT count(*) FROM runs",
        "users": "SELECT count(*) FROM users",
        "pending": "SELECT count(*) FROM runs WHERE status = 'awaiting_approval'",
    }
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {
        name: connection.execute(query).fetchone()[0]
        for name, query in queries.items()
        if name != "users" or "users" in tables  # a ledger of an early version has none
    }


def _require_target(file: Path, workspace: Workspace, *, force: bool) -> None:
    if file.is_dir():
        raise InputError(f'"{file}" is a folder: name the file to write.')
    if not file.parent.is_dir():
        raise InputError(f'There is no folder "{file.parent}": create it, or name another place.')
    if file.exists() and not force:
        raise InputError(f'"{file}" exists already: name another file, or use --force to replace it.')
    own = (workspace.ledger_folder, workspace.knowledge_folder, workspace.uploads_folder, workspace.metrics_folder)
    for folder in (*own, workspace.prompts_folder, workspace.evaluator_file.parent):
        if file.resolve().is_relative_to(folder.resolve()):
            raise InputError(f'"{file}" is in a folder that is being backed up: name a place outside of "{folder}".')


def _require_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f'The name of "{name!a}" is not valid Unicode: rename the file.') from None
    if not is_safe(name):
        raise InputError(f'"{name}" has a name that cannot be restored: rename the file.')
    return True


@contextmanager
def _written(file: Path, *, force: bool) -> Iterator[Path]:
    """A file, readable by its owner only, that gets the name after the block, if that does not raise."""
    partial = file.with_name(f".{file.name}.partial")
    partial.unlink(missing_ok=True)  # of a backup that was killed
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield partial
        if file.exists() and not force:
            raise InputError(f'"{file}" exists already: name another file, or use --force to replace it.')
        partial.replace(file)
        sync_folder(file.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """A renamed file survives a power failure only after its folder was synced."""
    with suppress(OSError):  # not every system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
