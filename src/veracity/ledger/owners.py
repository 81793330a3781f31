"""Who lives: each owner of runs holds a lock file, which the kernel frees when its process dies, however it dies.

So whoever is on the same machine knows at once that an owner is dead. Knows nothing about runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 15.0  # seconds to wait for another who looks
_inherited: list[FileLock] = []  # of a parent: to drop them could unlock what the parent holds


class Owners:
    """Those who share a folder. The one that this object stands for comes into being when its name is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "owners"
        self.host = socket.gethostname()
        self._prefix = hashlib.sha256(self.host.encode()).hexdigest()[:8]  # other machines may share the folder
        self._making = threading.Lock()
        self._name = ""
        self._pid = os.getpid()
        self._lock: FileLock | None = None

    def me(self) -> str:
        """A name that lives until close() or the end of this process. After a fork, the child gets one of its own."""
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._making:
            if self._lock is None:
                name = f"{self._prefix}-{secrets.token_hex(8)}"
                self._locked(lambda: self._take(name))
                self._name = name
            return self._name

    def lives(self, name: str) -> bool:
        """For an owner on this machine."""
        if name == self._name and self._pid == os.getpid():
            return True
        return self._path(name).exists() and self._locked(lambda: not self._buried(self._path(name)))

    def close(self) -> None:
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._making:
            if self._lock is not None:
                self._lock.release()
                with contextlib.suppress(OSError):
                    self._path(self._name).unlink()
            self._lock, self._name = None, ""

    def _take(self, name: str) -> bool:
        for path in self._folder.glob(f"{self._prefix}-*.lock"):
            self._buried(path)
        lock = FileLock(self._path(name), thread_local=False)  # whichever thread closes the ledger frees it
        lock.acquire(blocking=False)
        self._lock = lock
        return True

    def _buried(self, path: Path) -> bool:
        """True if nobody holds it any more; then it is removed."""
        lock = FileLock(path)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return False
        with contextlib.suppress(OSError):
            path.unlink()
        lock.release()
        return True

    def _locked(self, look: Callable[[], bool]) -> bool:
        """One at a time: who looks holds the other's lock for a moment, and would be taken for its owner."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / ".looking.lock", timeout=PATIENCE, poll_interval=0.005):
            return look()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def _leave_to_parent(self) -> None:
        self._making = threading.Lock()  # a thread of the parent may have held it
        if self._lock is not None:
            _inherited.append(self._lock)
        self._lock, self._name, self._pid = None, "", os.getpid()
