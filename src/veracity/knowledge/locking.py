"""One writer at a time for the documents of a workspace. The lock goes with the process that holds it, however it ends.

Knows nothing about what is written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from veracity.errors import BusyError, KnowledgeError, reason_of


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise BusyError at once when another process or thread writes there."""
    lock = FileLock(folder / ".writer.lock", timeout=0, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f'The documents in "{folder}" are being changed by {_holder(folder)}: try again when that has finished.'
        ) from None
    except (OSError, NotImplementedError) as problem:  # some network drives know no locks
        raise KnowledgeError(
            f'"{folder}" cannot be written ({reason_of(problem)}): make it a writable folder.'
        ) from None
    try:
        with contextlib.suppress(OSError):  # it is for a message only
            (folder / ".writer.pid").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(folder: Path) -> str:
    try:
        number = int((folder / ".writer.pid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return "another process"
    return "another thread of this process" if number == os.getpid() else f"process {number}"
