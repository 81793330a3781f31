"""Which files are meant: paths, folders and patterns become a list of files, with a word on those that are not taken.

Knows nothing about what the files hold.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from veracity.errors import InputError, reason_of
from veracity.models import Outcome

EMPTY = "it is empty"
# Folders that hold no one's documents. Hidden ones, whose names begin with a dot, are left out as well.
UNWANTED = frozenset(("__pycache__", "node_modules"))


@dataclass(frozen=True, slots=True)
class File:
    path: str
    size: int
    modified: int  # in nanoseconds


def discover(
    paths: Sequence[Path | str], *, max_megabytes: int, leave_out: Sequence[Path], remembered: Collection[str] = ()
) -> Iterator[File | Outcome]:
    """Each file once. What stands in a folder and cannot be read is told.

    What is named and not there is an error, unless files are `remembered` that were there.
    """
    seen: set[str] = set()
    unwanted = tuple(os.path.realpath(one) for one in leave_out)
    for place in [place for path in paths for place in _named(path, remembered)]:
        for one in _found(place, max_megabytes * 1_000_000, unwanted):
            name = one.path if isinstance(one, File) else one.name
            if name not in seen:
                seen.add(name)
                yield one


def vanished(remembered: Collection[str], paths: Sequence[Path | str]) -> list[str]:
    """The remembered files that the paths stand for and that are gone. One that merely cannot be reached is not."""
    wanted = [_in_full(path) for path in paths]
    return [location for location in remembered if _is_meant(location, wanted) and _is_gone(location)]


def _named(path: Path | str, remembered: Collection[str]) -> list[str]:
    """A path, or what a pattern stands for, in full."""
    if not str(path).strip():
        raise InputError("A path is empty: name a file or a folder, or write . for this one.")
    text = _in_full(path)
    if os.path.lexists(text):
        return [text]
    found = sorted(map(os.path.abspath, glob.iglob(text, recursive=True))) if glob.has_magic(text) else []
    if not found and not any(_is_meant(location, [text]) for location in remembered):
        raise InputError(f'There is no file or folder "{_shown(str(path))}": check the path.')
    return found


def _in_full(path: Path | str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _is_meant(location: str, wanted: Sequence[str]) -> bool:
    """Would a file at this place be taken, if it were there? It, or a folder it is in, has to be named."""
    parts = location.split(os.sep)
    return any(
        location == text or location.startswith(text.rstrip(os.sep) + os.sep) or _fits(parts, text.split(os.sep))
        for text in wanted
    )


def _fits(parts: list[str], pattern: list[str]) -> bool:
    """Does the pattern stand for this path, or for a folder above? All its readings are followed at once."""
    places = _with_skips({0}, pattern)
    for part in parts:
        if len(pattern) in places:
            return True
        stay = {place for place in places if pattern[place] == "**"}
        on = {place + 1 for place in places - stay if fnmatch.fnmatchcase(part, pattern[place])}
        places = _with_skips(stay | on, pattern)
    return len(pattern) in places


def _with_skips(places: set[int], pattern: list[str]) -> set[int]:
    """Where in the pattern one can be, as two stars may stand for nothing too."""
    for place in range(len(pattern)):
        if place in places and pattern[place] == "**":
            places = places | {place + 1}
    return places


def _is_unwanted(folder: str) -> bool:
    """The tables of another workspace are no documents either."""
    return folder in UNWANTED or folder.endswith(".lance")


def _is_gone(location: str) -> bool:
    try:
        os.lstat(location)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _found(path: str, largest: int, unwanted: tuple[str, ...]) -> Iterator[File | Outcome]:
    """What one path stands for. `unwanted` are files and folders of which nothing is taken."""
    if any((os.path.realpath(path) + os.sep).startswith(one + os.sep) for one in unwanted):
        return
    if not os.path.isdir(path):
        yield _file(path, largest)
        return
    inside = os.path.realpath(path) + os.sep
    for found in _files_below(path, unwanted):
        if isinstance(found, Outcome):
            yield found
        elif os.path.islink(found) and not os.path.realpath(found).startswith(inside):
            yield _skipped(found, "it is a link that leads out of the folder")
        else:
            yield _file(found, largest)


def _files_below(folder: str, unwanted: tuple[str, ...]) -> Iterator[str | Outcome]:
    trouble: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=trouble.append):
        kept = [name for name in sorted(folders) if not name.startswith(".") and not _is_unwanted(name)]
        links = [name for name in kept if os.path.islink(os.path.join(here, name))]
        folders[:] = [name for name in kept if os.path.realpath(os.path.join(here, name)) not in unwanted]
        place = os.path.realpath(here)
        shown = [name for name in sorted(files) if not name.startswith(".")]
        yield from (os.path.join(here, name) for name in shown if os.path.join(place, name) not in unwanted)
        yield from (_skipped(os.path.join(here, name), "it is a link to a folder: name that itself") for name in links)
    yield from (_unreadable(problem.filename, problem) for problem in trouble)


def _file(path: str, largest: int) -> File | Outcome:
    try:
        found = os.stat(path)
    except OSError as problem:
        return _unreadable(path, problem)
    if not stat.S_ISREG(found.st_mode):
        return _skipped(path, "it is not a regular file")
    if _shown(path) != path:
        return _skipped(path, "its name is not valid UTF-8: rename it")
    if found.st_size == 0:
        return _skipped(path, EMPTY)
    if found.st_size > largest:
        return _skipped(path, f"it has {found.st_size / 1e6:,.0f} MB, more than reading.max_megabytes allows")
    return File(path, found.st_size, found.st_mtime_ns)


def _skipped(path: str, reason: str) -> Outcome:
    return Outcome(name=_shown(path), status="skipped", reason=reason)


def _unreadable(path: str, problem: OSError) -> Outcome:
    return Outcome(name=_shown(path), status="failed", reason=f"it cannot be read ({reason_of(problem)})")


def _shown(path: str) -> str:
    return path.encode(errors="backslashreplace").decode()
