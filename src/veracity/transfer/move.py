"""`veracity move-to`: moves ledger, documents and uploads between the workspace and places that machines share.

Everything is copied and compared first. Then the old place is marked, so that no process uses it by mistake, and last
the settings are changed. The copy of the ledger is one transaction, and so is the mark in the old one: nothing can be
stored there in between. A move that was killed is finished by the same command. Nothing is deleted.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from veracity.errors import BusyError, InputError
from veracity.knowledge.lance import lancedb
from veracity.knowledge.library import writer_lock
from veracity.knowledge.location import FolderLocation, Location, SharedLock
from veracity.knowledge.move_mark import read_mark
from veracity.knowledge.object_store import S3Location
from veracity.knowledge.store import TABLE, TABLE_FOLDER, explain_errors, read_all
from veracity.knowledge.upload_files import ASIDE, LOCK_NAME
from veracity.ledger import Observations, relocation
from veracity.ledger.backend import Backend, open_backend
from veracity.ledger.journal import Journal
from veracity.ledger.owners import FileOwners
from veracity.ledger.rows import members
from veracity.ledger.tables import leases, runs
from veracity.runs.checkpoints import Serializer
from veracity.runs.factory import open_checkpoints
from veracity.settings import load_settings, variable
from veracity.settings.store import IN_WORKSPACE, StoreSettings
from veracity.settings.toml import parse, read_bytes
from veracity.transfer.checkpoint_copy import copy_checkpoints
from veracity.transfer.file_copy import FileTree, FolderTree, ObjectTree, copy_files, require_free, set_mark
from veracity.transfer.ledger_copy import TableHash, copy_tables, is_empty, lift_limits, remove_all
from veracity.transfer.reforget import read_mirror
from veracity.transfer.store_lines import format_store, write_store
from veracity.workspace import Workspace, require_existing_workspace

FileSetting = Literal["knowledge", "uploads"]
FILE_SETTINGS: tuple[FileSetting, ...] = ("knowledge", "uploads")
UNFINISHED = ("running", "awaiting_approval")
LOCK_TIMEOUT_SECONDS = 10.0
Progress = Callable[[str], None]


class Move(BaseModel):
    """`lines` is the new section of veracity.toml; `wrote_settings`: whether it is there. `left` are the old places."""

    model_config = ConfigDict(frozen=True)

    rows: dict[str, int] = {}
    checkpoints: int = 0
    files: dict[str, int] = {}
    lines: str
    wrote_settings: bool
    left: list[str]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where everything is before, or after the move."""

    workspace: Workspace
    store: StoreSettings

    def name(self, setting: str) -> str:
        return str(getattr(self.store, setting)) or IN_WORKSPACE

    def identify(self, setting: str) -> str:
        """Names a workspace, too, so that two of them are not taken for each other."""
        url = str(getattr(self.store, setting))
        endpoint = self.store.s3_endpoint if setting in FILE_SETTINGS else ""
        return f"{url} {endpoint}".strip() if url else f"{socket.gethostname()}:{self.folder(setting).resolve()}"

    def folder(self, setting: str) -> Path:
        return self.workspace.root / setting

    def location(self, setting: FileSetting) -> Location:
        url = str(getattr(self.store, setting))
        return S3Location(url, self.store.s3_endpoint) if url else FolderLocation(self.folder(setting))

    def tree(self, setting: FileSetting) -> FileTree:
        location = self.location(setting)
        return ObjectTree(location) if isinstance(location, S3Location) else FolderTree(self.folder(setting))

    def backend(self) -> Backend:
        return open_backend(self.workspace.ledger_folder, self.store.ledger, is_moving=True)


def move_store(
    directory: Path | None,
    *,
    ledger: str | None = None,
    knowledge: str | None = None,
    uploads: str | None = None,
    s3_endpoint: str | None = None,
    progress: Progress = lambda _: None,
) -> Move:
    """Move what is named to a URL, or to "workspace". Raises `VeracityError`: then the old place is still in use, or
    the same call finishes the move."""
    workspace = Workspace(require_existing_workspace(directory))
    store = load_settings(read_bytes(workspace.settings_file), workspace.settings_file).store
    wanted = {"ledger": ledger, "knowledge": knowledge, "uploads": uploads, "s3_endpoint": s3_endpoint}
    old, new = _Places(workspace, store), _Places(workspace, _target_of(store, wanted))
    parse(format_store(new.store).encode(), workspace.settings_file)  # refuses what looks like a credential
    moving = [setting for setting in ("ledger", *FILE_SETTINGS) if old.identify(setting) != new.identify(setting)]
    if not moving:
        raise InputError(
            "Everything is there already: name another place for the ledger, the documents or the uploads."
        )
    files = [setting for setting in FILE_SETTINGS if setting in moving]
    with ExitStack() as stack:
        source, target = _opened(old, stack), _opened(new, stack)
        _check(old, new, source, target, files, moves_ledger="ledger" in moving)
        _lock_files(old, files, stack)
        counts = {}
        for setting in files:
            if not _is_moved(old, new, setting):
                progress(f"copying {setting} to {new.name(setting)}")
                counts[setting] = copy_files(old.tree(setting), new.tree(setting), old.identify(setting))
        if "knowledge" in files:
            _require_readable(new)
        rows: dict[str, TableHash] = {}
        checkpoints = 0
        if "ledger" in moving:
            progress(f"copying ledger to {new.name('ledger')}")
            rows, checkpoints = _move_ledger(old, new, source, target)
        if "knowledge" in files and old.store.knowledge:
            Journal(workspace.ledger_folder).add(read_mirror(old.location("knowledge")))
        for setting in files:
            set_mark(old.tree(setting), "moved", new.name(setting))
        for setting in files:
            set_mark(new.tree(setting), None)
        if "ledger" in moving:
            with target.database.writing(exclusive=True) as connection:
                relocation.clear_mark(connection)
    return Move(
        rows={name: table.rows for name, table in rows.items()},
        checkpoints=checkpoints,
        files=counts,
        lines=format_store(new.store),
        wrote_settings=_write_settings(workspace, new.store),
        left=[old.name(setting) if getattr(store, setting) else str(old.folder(setting)) for setting in moving],
    )


def _target_of(store: StoreSettings, wanted: dict[str, str | None]) -> StoreSettings:
    named = {name: "" if value == IN_WORKSPACE else value for name, value in wanted.items() if value is not None}
    values = {**store.model_dump(), **named}
    if not values["knowledge"] and not values["uploads"]:
        values["s3_endpoint"] = ""
    try:
        target = StoreSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise InputError(f"--{option} {first['msg'].removeprefix('Value error, ')}.") from None
    target.require_shared_ledger()
    return target


def _opened(places: _Places, stack: ExitStack) -> Backend:
    backend = places.backend()
    stack.callback(backend.database.close)
    stack.callback(backend.owners.close)
    return backend


def _check(
    old: _Places, new: _Places, source: Backend, target: Backend, files: list[FileSetting], *, moves_ledger: bool
) -> None:
    """Everything that can be known before the first byte is copied."""
    with source.database.reading() as connection:
        _require_idle(connection, source)
        mark = relocation.read_mark(connection)
    if moves_ledger and not _is_ledger_moved(mark, new):
        with target.database.reading() as connection:
            _require_free_ledger(connection, old, new)
    for setting in files:
        if not _is_moved(old, new, setting):
            new.location(setting).open()
            require_free(new.tree(setting), old.identify(setting))


def _require_idle(connection: sa.Connection, backend: Backend) -> None:
    owners = backend.owners
    if isinstance(owners, FileOwners):
        if owners.any_alive():
            raise BusyError("Another process uses this workspace: stop it, and run the move again.")
        return
    for member in members.list_members(connection):
        if owners.is_alive(member.name):
            raise BusyError(f"A {member.kind} on {member.host} is running: stop all of them, and run the move again.")
    held = sa.select(leases.c.owner).where(leases.c.owner.is_not(None)).distinct()
    if any(owners.is_alive(owner) for owner in connection.execute(held).scalars()):
        raise BusyError("Questions are being answered: wait for them, and run the move again.")
    if sa.inspect(connection).has_table("ingestions"):
        waiting = "SELECT count(*) FROM ingestions WHERE state <> 'done'"
        if connection.execute(sa.text(waiting)).scalar():
            raise BusyError("Uploaded files wait for a worker: start one, and run the move when they are indexed.")


def _require_free_ledger(connection: sa.Connection, old: _Places, new: _Places) -> None:
    mark = relocation.read_mark(connection)
    if mark == ("arriving", old.identify("ledger")):
        return
    if mark is not None or not is_empty(connection):
        folder = new.workspace.ledger_folder
        place, remedy = new.name("ledger"), "name another database or schema, or drop its tables"
        if place == IN_WORKSPACE:
            place, remedy = str(folder), "rename or delete its ledger.sqlite and checkpoints.sqlite"
        raise InputError(f'"{place}" already holds a ledger: {remedy}.')


def _lock_files(old: _Places, files: list[FileSetting], stack: ExitStack) -> None:
    """No process can change what is being copied. Raises `BusyError`."""
    lock: SharedLock | None = None
    if old.store.ledger:
        from veracity.ledger.shared_lock import PostgresLock  # noqa: PLC0415 - an extra

        lock = PostgresLock(old.store.ledger)
    if "uploads" in files:
        stack.enter_context(_uploads_lock(old, lock))
    if "knowledge" in files and (old.store.knowledge or old.folder("knowledge").is_dir()):
        stack.enter_context(writer_lock(old.location("knowledge"), lock))


@contextmanager
def _uploads_lock(old: _Places, lock: SharedLock | None) -> Iterator[None]:
    """That of `knowledge/upload_files.py`, without its refusal of uploads that are marked."""
    folder = old.folder("uploads")
    try:
        if old.store.uploads and lock is not None:
            with lock(LOCK_NAME, LOCK_TIMEOUT_SECONDS):
                yield
        elif folder.is_dir():
            (folder / ASIDE).mkdir(exist_ok=True)
            with FileLock(folder / ASIDE / "lock", timeout=LOCK_TIMEOUT_SECONDS):
                yield
        else:
            yield
    except TimeoutError:
        raise BusyError("Other documents are being ingested: run the move when that has finished.") from None


def _move_ledger(old: _Places, new: _Places, source: Backend, target: Backend) -> tuple[dict[str, TableHash], int]:
    file = Observations(old.workspace.observations_file)
    place = file.place() if new.store.ledger and not old.store.ledger else None
    with source.database.writing(exclusive=True) as before:
        if _is_ledger_moved(relocation.read_mark(before), new):
            return {}, 0
        lift_limits(before)
        _require_idle(before, source)
        with target.database.writing(exclusive=True) as after:  # commits first
            lift_limits(after)
            _require_free_ledger(after, old, new)
            remove_all(after)
            rows = copy_tables(before, after, place)
            checkpoints = _copy_checkpoints(old, new, before, after)
            relocation.set_mark(after, "arriving", old.identify("ledger"))
        relocation.set_mark(before, "moved", new.name("ledger"))
    return rows, checkpoints


def _copy_checkpoints(old: _Places, new: _Places, before: sa.Connection, after: sa.Connection) -> int:
    """Into Postgres in the same transaction as the ledger."""
    run_ids = before.execute(sa.select(runs.c.run_id).where(runs.c.status.in_(UNFINISHED))).scalars().all()
    if not run_ids:
        return 0
    with ExitStack() as stack:
        folder = old.workspace.ledger_folder
        source = open_checkpoints(folder, old.store.ledger)
        stack.callback(source.close)
        target = open_checkpoints(folder, new.store.ledger)
        stack.callback(target.close)
        saver: Any = target.saver(nullcontext)
        if new.store.ledger:
            from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 - an extra

            saver = PostgresSaver(after.connection.driver_connection, serde=Serializer())  # type: ignore[arg-type]
        for run_id in run_ids:
            saver.delete_thread(run_id)  # of a move that was killed
        return copy_checkpoints(source.saver(), saver, run_ids)


def _is_ledger_moved(mark: tuple[str, str] | None, new: _Places) -> bool:
    return mark == ("moved", new.name("ledger"))


def _is_moved(old: _Places, new: _Places, setting: FileSetting) -> bool:
    return read_mark(old.tree(setting)) == ("moved", new.name(setting))


def _require_readable(new: _Places) -> None:
    """The files are equal; this also opens them as a table there."""
    location, tree = new.location("knowledge"), new.tree("knowledge")
    if any(name.startswith(f"{TABLE_FOLDER}/") for name in tree.names()):
        with explain_errors(location):
            database = lancedb.connect(location.uri, storage_options=location.storage_options)
            read_all(database.open_table(TABLE))


def _write_settings(workspace: Workspace, store: StoreSettings) -> bool:
    """Not if the environment has the settings."""
    if any(os.environ.get(variable("store", key), "").strip() for key in StoreSettings.model_fields):
        return False
    return write_store(workspace.settings_file, store)
