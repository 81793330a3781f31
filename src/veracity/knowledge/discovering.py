"""Which files are meant: paths, folders and patterns become a list of files, with a word on those that are not taken.

Knows nothing about what the files hold.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from veracity.errors import InputError
from veracity.models import Outcome

# Folders that hold no one's documents. Hidden ones, whose names begin with a dot, are left out as well.
UNWANTED = frozenset(("__pycache__", "node_modules"))


@dataclass(frozen=True, slots=True)
class File:
    path: str
    size: int
    modified: int  # in nanoseconds


def discover(paths: Sequence[Path | str], *, max_megabytes: int, leave_out: Path) -> Iterator[File | Outcome]:
    """Each file once. What is named and not there is an error; what stands in a folder and cannot be read is told."""
    seen: set[str] = set()
    for found, below in _all_files([_named(path) for path in paths], leave_out):
        if found not in seen:
            seen.add(found)
            yield _file(found, below, max_megabytes * 1_000_000)


def is_meant(location: str, paths: Sequence[Path | str]) -> bool:
    """Would a file at this place be taken, if it were there?"""
    return any(
        location == found or location.startswith(found.rstrip(os.sep) + os.sep)
        for path in paths
        for found in _named(path)
    ) or any(Path(location).match(os.path.abspath(path)) for path in paths if glob.has_magic(str(path)))


def _named(path: Path | str) -> list[str]:
    """A path, or what a pattern stands for, in full."""
    text = os.path.abspath(Path(path).expanduser())
    if os.path.lexists(text):
        return [text]
    found = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
    if not found:
        raise InputError(f'There is no file or folder "{path}": check the path.')
    return found


def _all_files(named: Iterable[list[str]], leave_out: Path) -> Iterator[tuple[str, str]]:
    """Each file, and the folder that was named for it; empty when it was named itself."""
    for some in named:
        for path in some:
            if os.path.isdir(path):
                yield from ((found, path) for found in _files_below(path, os.path.abspath(leave_out)))
            else:
                yield path, ""


def _files_below(folder: str, leave_out: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in UNWANTED and os.path.join(here, name) != leave_out
        )
        yield from (os.path.join(here, name) for name in sorted(files) if not name.startswith("."))


def _file(path: str, below: str, largest: int) -> File | Outcome:
    shown = path.encode(errors="backslashreplace").decode()
    try:
        if below and os.path.islink(path) and not os.path.realpath(path).startswith(os.path.realpath(below) + os.sep):
            return Outcome(name=shown, status="skipped", reason="it is a link that leads out of the folder")
        found = os.stat(path)
    except OSError as problem:
        return Outcome(name=shown, status="failed", reason=f"it cannot be read ({problem.strerror})")
    if not stat.S_ISREG(found.st_mode):
        return Outcome(name=shown, status="skipped", reason="it is not a regular file")
    if shown != path:
        return Outcome(name=shown, status="skipped", reason="its name is not valid UTF-8: rename it")
    if found.st_size == 0:
        return Outcome(name=shown, status="skipped", reason="it is empty")
    if found.st_size > largest:
        reason = f"it has {found.st_size / 1e6:,.0f} MB, more than the setting reading.max_megabytes allows"
        return Outcome(name=shown, status="skipped", reason=reason)
    return File(path, found.st_size, found.st_mtime_ns)
