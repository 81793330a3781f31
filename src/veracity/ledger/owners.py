"""The processes that own runs, and whether they live.

Every process that works on runs registers under a random name, and holds a lock with that name until it ends: a file
lock in the workspace, or a session lock in Postgres (see `sessions`). Nobody has to wait to learn that a process died.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from veracity.ledger.database import translate_errors
from veracity.workspace import make_private_folder

LOCK_TIMEOUT_SECONDS = 15.0
_inherited: list[FileLock] = []  # after a fork: garbage collecting these could release the parent's locks


class Owners(Protocol):
    @property
    def host(self) -> str: ...

    @property
    def name(self) -> str:
        """The name of this process, or "" while it is not registered."""

    @property
    def former_names(self) -> set[str]:
        """Names of this process whose lock was lost. Its leases may still have them."""

    @property
    def abandoned(self) -> set[tuple[str, int]]:
        """Runs of this process, with their tokens, whose release could not be stored."""

    def register(self) -> str:
        """The name of this process, which is valid until close(). After a fork, the child gets its own. Idempotent."""

    def check(self) -> str:
        """Like register(), but also finds out whether the lock was lost. Then the name is another one."""

    def is_alive(self, name: str) -> bool: ...

    def evict(self, name: str) -> None:
        """End what a process that hangs still holds. Its runs go to another one."""

    def close(self) -> None: ...


class FileOwners:
    """The processes that share a ledger folder. Each holds the lock on a file of its own while it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "owners"
        self.host = socket.gethostname()
        self._prefix = hashlib.sha256(self.host.encode()).hexdigest()[:8]  # other machines may share the folder
        self._registering = threading.Lock()
        self._name = ""
        self._pid = os.getpid()
        self._lock: FileLock | None = None
        self.former_names: set[str] = set()
        self.abandoned: set[tuple[str, int]] = set()  # runs and tokens whose release could not be stored

    def register(self) -> str:
        """The name of this process, which is valid until close(). After a fork, the child gets its own. Idempotent."""
        self._detach_after_fork()
        with self._registering, translate_errors(self._folder.parent):
            if self._lock is None:
                name = f"{self._prefix}-{secrets.token_hex(8)}"
                with self._probing():
                    for path in self._folder.glob(f"{self._prefix}-*.lock"):
                        _remove_if_free(path)
                    lock = FileLock(self._path(name), thread_local=False)  # close() may run on another thread
                    lock.acquire(blocking=False)
                self._lock, self._name = lock, name
            return self._name

    def check(self) -> str:
        return self.register()

    @property
    def name(self) -> str:
        return self._name if self._pid == os.getpid() else ""

    def is_alive(self, name: str) -> bool:
        """True for an owner on another machine, whose lock cannot be seen here: its lease expires."""
        if name == self.name or not name.startswith(self._prefix):
            return True
        if not self._path(name).exists():
            return False
        with self._probing():
            return not _remove_if_free(self._path(name))

    def any_alive(self) -> bool:
        """Whether any other process of this machine is registered."""
        paths = [path for path in self._folder.glob("*.lock") if path.stem != self.name and path.name[0] != "."]
        with self._probing() if paths else contextlib.nullcontext():
            return any(not _remove_if_free(path) for path in paths)

    def evict(self, name: str) -> None:
        """No-op: a process that hangs has no connection to end, and its token is refused."""

    def close(self) -> None:
        self._detach_after_fork()
        with self._registering:
            if self._lock is not None:
                self._lock.release()
                with contextlib.suppress(OSError):
                    self._path(self._name).unlink()
            self._lock, self._name = None, ""

    @contextlib.contextmanager
    def _probing(self) -> Iterator[None]:
        """One process at a time: probing a lock holds it for a moment, which another prober takes for a live owner."""
        make_private_folder(self._folder.parent)
        make_private_folder(self._folder)
        with FileLock(self._folder / ".looking.lock", timeout=LOCK_TIMEOUT_SECONDS, poll_interval=0.005):
            yield

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def _detach_after_fork(self) -> None:
        if self._pid == os.getpid():
            return
        self._registering = threading.Lock()  # a thread of the parent may have held it
        if self._lock is not None:
            _inherited.append(self._lock)
        self._lock, self._name, self._pid = None, "", os.getpid()


def _remove_if_free(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    with contextlib.suppress(OSError):
        path.unlink()
    lock.release()
    return True
