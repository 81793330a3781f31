"""File names and locations of uploads: safe names on any file system, and stored locations that survive a move."""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

UNNAMED = "untitled"
FOLDER_SEPARATOR = " - "  # replaces the slashes of a relative path
MAX_NAME_BYTES = 200  # file systems allow 255
MAX_EXTENSION_BYTES = 20
FORBIDDEN_ON_WINDOWS = frozenset('<>:"|?*')
RESERVED_ON_WINDOWS = re.compile(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)")
UNSAFE_ENDS = re.compile(r"^[\s.~]+|[\s.]+$")
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # Unicode categories


class Locations:
    """Converts file paths to stored locations and back. Uploads are stored relative to the workspace.

    If the uploads are in an object store, `downloads` is the folder that holds a copy of one while it is read.
    """

    def __init__(self, uploads: Path | None, downloads: Path | None = None) -> None:
        folder = downloads or uploads
        self._folder = str(folder or "")
        self._ending = f"{folder.name}/" if folder else ""
        self._prefix = f"{uploads.name}/" if uploads else ""
        self._are_remote = downloads is not None

    def location_of(self, path: str) -> str:
        folder, name = os.path.split(path)
        if self._folder and f"{folder}/".endswith(self._ending):  # cheap test first: realpath is slow for many files
            with suppress(ValueError):  # the path holds a null byte
                if os.path.realpath(folder) == os.path.realpath(self._folder):
                    return self._prefix + name
        return path

    def location_of_upload(self, name: str) -> str:
        return self._prefix + name

    def path_of(self, location: str) -> str:
        if not self._folder or not location.startswith(self._prefix):
            return location
        return os.path.normpath(Path(self._folder).absolute() / location.removeprefix(self._prefix))

    def paths_of(self, locations: Iterable[str]) -> set[str]:
        """The paths of those locations that are files on this machine."""
        return {
            self.path_of(location)
            for location in locations
            if not (self._are_remote and location.startswith(self._prefix))
        }

    def upload_at(self, location: str) -> Path | None:
        """The file at this location, or None if it is not an upload."""
        path = self.path_of(location)
        return Path(path) if self.location_of(path) != path else None


def safe_file_name(name: str) -> str:
    """Turn any name into a visible file name (NFC) that every file system accepts and that stays in its folder.

    A relative path keeps its folders ("a/b.md" becomes "a - b.md"), so that files of two folders stay apart; of any
    other path only the last part is used. A name that has to change beyond that gets a hash of the original appended,
    so that it replaces no other file.
    """
    normalized = unicodedata.normalize("NFC", re.sub("[\ud800-\udfff]", "\ufffd", name)).removeprefix("./")
    parts = re.split(r"[/\\]", normalized)
    is_relative = not re.match(r"[a-zA-Z]:", normalized) and not any(part in ("", "..") for part in parts)
    flat = FOLDER_SEPARATOR.join(parts) if is_relative else parts[-1]
    safe = _remove_unsafe(flat)
    return safe if safe == flat and len(safe.encode()) <= MAX_NAME_BYTES else _append_hash(safe, flat)


def _remove_unsafe(name: str) -> str:
    visible = "".join(character for character in name if unicodedata.category(character) not in INVISIBLE)
    allowed = "".join("_" if character in FORBIDDEN_ON_WINDOWS else character for character in visible)
    safe = UNSAFE_ENDS.sub("", unicodedata.normalize("NFC", allowed))  # removed characters may have split a sequence
    return f"_{safe}" if RESERVED_ON_WINDOWS.match(safe) else safe or UNNAMED


def _append_hash(name: str, original: str) -> str:
    digest = f"-{hashlib.blake2b(original.encode(), digest_size=4).hexdigest()}"
    suffix = Path(name).suffix
    extension = suffix if len(suffix.encode()) <= MAX_EXTENSION_BYTES else ""
    stem = name.removesuffix(extension)
    space = MAX_NAME_BYTES - len((digest + extension).encode())
    return UNSAFE_ENDS.sub("", stem.encode()[:space].decode(errors="ignore")) + digest + extension
