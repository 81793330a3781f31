"""Finds the files to ingest: expands paths, folders and patterns, and says why a file is left out."""

import fnmatch
import glob
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from veracity.errors import InputError, reason_of
from veracity.knowledge.selection import Selection
from veracity.models import Outcome

EMPTY = "it is empty"


@dataclass(frozen=True, slots=True)
class File:
    path: str
    size: int
    modified: int  # in nanoseconds


def discover(
    paths: Sequence[Path | str],
    *,
    max_megabytes: int,
    exclude: Sequence[Path],
    stored: Collection[str] = (),
    selection: Selection | None = None,
) -> Iterator[File | Outcome]:
    """Yield each file that `selection` accepts once, and an outcome for each of them that cannot be ingested.

    `exclude` lists files and folders that are never ingested. Raises InputError for a path that does not exist, unless
    it matches files that were `stored` earlier.
    """
    seen: set[str] = set()
    walk = _Walk(max_megabytes * 1_000_000, tuple(map(os.path.realpath, exclude)), selection or Selection())
    for match, root in [match for path in paths for match in _expand(path, stored)]:
        for entry in walk.entries(match, root):
            name = entry.path if isinstance(entry, File) else entry.name
            if name not in seen:
                seen.add(name)
                yield entry


def find_deleted(stored: Collection[str], paths: Sequence[Path | str]) -> list[str]:
    """The stored files that match the paths and no longer exist. Unreachable files do not count as deleted."""
    patterns = [_absolute(path) for path in paths]
    return [path for path in stored if _matches(path, patterns) and _is_deleted(path)]


def _expand(path: Path | str, stored: Collection[str]) -> list[tuple[str, str]]:
    """The path itself, or the paths that match it as a pattern; absolute.

    With each of them the folder in which the pattern searched; "" for the path itself.
    """
    if not str(path).strip():
        raise InputError("A path is empty: name a file or a folder, or use . for the current folder.")
    text = _absolute(path)
    if os.path.lexists(text):
        return [(text, "")]
    matches = sorted(map(os.path.abspath, glob.iglob(text, recursive=True))) if glob.has_magic(text) else []
    if not matches and not any(_matches(known, [text]) for known in stored):
        raise InputError(f'There is no file or folder "{_printable(str(path))}": check the path.')
    root = os.sep.join(takewhile(lambda part: not glob.has_magic(part), text.split(os.sep))) or os.sep
    return [(match, root) for match in matches]


def _absolute(path: Path | str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _matches(path: str, patterns: Sequence[str]) -> bool:
    """True if the file, or a folder above it, is one of the patterns or matches one."""
    parts = path.split(os.sep)
    return any(
        path == pattern
        or path.startswith(pattern.rstrip(os.sep) + os.sep)
        or _matches_glob(parts, pattern.split(os.sep))
        for pattern in patterns
    )


def _matches_glob(parts: list[str], pattern: list[str]) -> bool:
    """True if the pattern matches the path or a folder above it. Follows all positions in the pattern at once, like an
    NFA, so that `**` needs no backtracking."""
    positions = _skip_stars({0}, pattern)
    for part in parts:
        if len(pattern) in positions:
            return True
        stay = {position for position in positions if pattern[position] == "**"}
        advance = {position + 1 for position in positions - stay if fnmatch.fnmatchcase(part, pattern[position])}
        positions = _skip_stars(stay | advance, pattern)
    return len(pattern) in positions


def _skip_stars(positions: set[int], pattern: list[str]) -> set[int]:
    """Add the positions after `**`, since `**` also matches no folder at all."""
    for position in range(len(pattern)):
        if position in positions and pattern[position] == "**":
            positions = positions | {position + 1}
    return positions


def _is_deleted(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as problem:
        return isinstance(problem, FileNotFoundError | NotADirectoryError)
    return False


@dataclass(frozen=True, slots=True)
class _Walk:
    max_bytes: int
    excluded: tuple[str, ...]
    selection: Selection

    def entries(self, path: str, root: str) -> Iterator[File | Outcome]:
        """The file at the path, or the files below it. `root` is that of `_expand`."""
        if any((os.path.realpath(path) + os.sep).startswith(folder + os.sep) for folder in self.excluded):
            return
        is_folder = os.path.isdir(path)
        if root and not self.selection.accepts_match(path, root, is_folder=is_folder):
            return
        if not root and not self.selection.accepts_named(path, is_folder=is_folder):
            return
        if not is_folder:
            yield _file(path, self.max_bytes)
            return
        inside = os.path.realpath(path) + os.sep
        for entry in self._below(path, root or path):
            if isinstance(entry, Outcome):
                yield entry
            elif os.path.islink(entry) and not os.path.realpath(entry).startswith(inside):
                yield _skipped(entry, "it is a link that leads out of the folder")
            else:
                yield _file(entry, self.max_bytes)

    def _below(self, folder: str, root: str) -> Iterator[str | Outcome]:
        errors: list[OSError] = []
        for here, folders, files in os.walk(folder, onerror=errors.append):
            real = os.path.realpath(here)
            own = [name for name in sorted(folders) if os.path.realpath(os.path.join(here, name)) not in self.excluded]
            folders[:] = [
                name for name in own if self.selection.accepts(os.path.join(here, name), root, is_folder=True)
            ]
            for name in sorted(files):
                path = os.path.join(here, name)
                if os.path.join(real, name) not in self.excluded and self.selection.accepts(path, root):
                    yield path
            for name in folders:
                if os.path.islink(path := os.path.join(here, name)):
                    yield _skipped(path, "it is a link to a folder: ingest that folder by its own path")
        yield from (_unreadable(problem.filename, problem) for problem in errors)


def _file(path: str, max_bytes: int) -> File | Outcome:
    try:
        status = os.stat(path)
    except OSError as problem:
        return _unreadable(path, problem)
    if not stat.S_ISREG(status.st_mode):
        return _skipped(path, "it is not a regular file")
    if _printable(path) != path:
        return _skipped(path, "its name is not valid UTF-8: rename it")
    if status.st_size == 0:
        return _skipped(path, EMPTY)
    if status.st_size > max_bytes:
        return _skipped(path, f"it has {status.st_size / 1e6:,.0f} MB, more than reading.max_megabytes allows")
    return File(path, status.st_size, status.st_mtime_ns)


def _skipped(path: str, reason: str) -> Outcome:
    return Outcome(name=_printable(path), status="skipped", reason=reason)


def _unreadable(path: str, problem: OSError) -> Outcome:
    return Outcome(name=_printable(path), status="failed", reason=f"it cannot be read ({reason_of(problem)})")


def _printable(path: str) -> str:
    return path.encode(errors="backslashreplace").decode()
