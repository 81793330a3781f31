"""`veracity restore`: makes a workspace from a backup, and forgets again what was forgotten since.

Everything happens in a hidden folder of the workspace. Only when it is complete, checked and has forgotten, its parts
are renamed into their places, and those that were there before are set aside.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from veracity.errors import BusyError, ConfigurationError, InputError, reason_of
from veracity.knowledge.library import writer_lock
from veracity.knowledge.purge import FORGOTTEN
from veracity.knowledge.store import Store
from veracity.knowledge.uploads import Uploads
from veracity.ledger.journal import Forgotten, Journal, read_journal
from veracity.ledger.owners import FileOwners
from veracity.settings import Settings
from veracity.transfer.archive import FILES, FOLDERS, Manifest, explain_failed_write, extract_archive, open_archive
from veracity.transfer.backup import check_content, sync_folder
from veracity.transfer.reforget import Reforgotten, forget_again
from veracity.workspace import Workspace

STAGING, REPLACED = ".restore-", ".replaced-"


class Restored(BaseModel):
    """`replaced` is the folder with the workspace that was there before."""

    model_config = ConfigDict(frozen=True)

    workspace: Path
    manifest: Manifest
    forgotten: Reforgotten
    replaced: Path | None = None


def restore_workspace(file: Path, root: Path, *, replace: bool = False, journals: Sequence[Path] = ()) -> Restored:
    """Restore into the folder, which is created if necessary. With `replace`, a workspace that is there is set aside.
    `journals` are files with what was forgotten, besides the one of that workspace. Raises `VeracityError`: then
    nothing has changed."""
    root, workspace = root.absolute(), Workspace(root.absolute())
    with open_archive(file):  # a wrong file must not create a folder
        pass
    later = [entry for path in journals for entry in read_journal(path)]
    existing = [root / name for name in (*FOLDERS, *FILES) if (root / name).exists()]
    if existing and not replace:
        raise InputError(
            f'"{root}" has "{existing[0].name}" already: choose another folder, or use --replace to set its workspace '
            "aside."
        )
    if existing:
        require_unused(workspace)
        later += Journal(workspace.ledger_folder).entries()
    with _staging(root) as folder:
        manifest = extract_archive(file, folder)
        check_content(folder)
        forgotten = _forget_since(folder, later)
        replaced = _swap(folder, root)
    return Restored(workspace=root, manifest=manifest, forgotten=forgotten, replaced=replaced)


def require_unused(workspace: Workspace) -> None:
    """Raise `BusyError` while another process serves the workspace, answers a question or changes documents."""
    if FileOwners(workspace.ledger_folder).any_alive():
        raise BusyError(f'Another process uses the workspace "{workspace.root}": stop it, and try again.')
    if workspace.knowledge_folder.is_dir():
        with writer_lock(workspace.knowledge_folder):
            pass
    with suppress(ConfigurationError), Uploads(workspace.uploads_folder, 1).lock(0):  # they may have been moved
        pass


def _forget_since(folder: Path, entries: Sequence[Forgotten]) -> Reforgotten:
    """What the copy of the journal in the backup contains was forgotten before."""
    journal = Journal(folder / "ledger")
    before = {entry.id for entry in journal.entries()}
    later = [entry for entry in entries if entry.id not in before]
    if not later:
        return Reforgotten()
    journal.add(later)
    forgotten = forget_again(folder, later, Settings())
    if (folder / "knowledge" / FORGOTTEN).exists():
        Store(folder / "knowledge", 1, {}).purge()  # at once: nobody reads it
    return forgotten


@contextmanager
def _staging(root: Path) -> Iterator[Path]:
    is_new = not root.exists()
    folder = root / f"{STAGING}{secrets.token_hex(4)}"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in root.glob(f"{STAGING}*"):  # of a restore that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InputError(f'"{root}" cannot be written ({reason_of(error)}): name another folder.') from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if is_new and not any(root.iterdir()):
            root.rmdir()


def _swap(folder: Path, root: Path) -> Path | None:
    """Rename the parts of the workspace into their places. Returns where those that were there are now."""
    names = [*FOLDERS, *FILES]
    replaced = root / f"{REPLACED}{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
    has_replaced = any((root / name).exists() for name in names)
    pairs = [(root / name, replaced / name) for name in names] + [(folder / name, root / name) for name in names]
    done: list[tuple[Path, Path]] = []
    try:
        if has_replaced:
            replaced.mkdir(mode=0o700)
        for source, target in pairs:
            if source.exists():
                source.rename(target)
                done.append((source, target))
    except OSError as error:
        for source, target in reversed(done):
            target.rename(source)
        raise explain_failed_write(Path(error.filename or root), error) from None
    sync_folder(root)
    return replaced if has_replaced else None
