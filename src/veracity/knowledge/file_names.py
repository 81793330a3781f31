"""Names for files that strangers hand in: from any name one that every file system takes and that leads nowhere else.

Knows nothing about the files.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path


class Places:
    """`uploads` is the folder of the files that were handed in, where there is one."""

    def __init__(self, uploads: Path | None) -> None:
        self._folder = str(uploads or "")
        self._prefix = f"{uploads.name}/" if uploads else ""

    def location_of(self, path: str) -> str:
        """As it is stored."""
        folder, name = os.path.split(path)
        if self._folder and f"{folder}/".endswith(self._prefix):  # to look where each folder leads would take long
            with suppress(ValueError):  # no file can have such a path
                if os.path.realpath(folder) == os.path.realpath(self._folder):
                    return self._prefix + name
        return path

    def path_of(self, location: str) -> str:
        if not self._folder or not location.startswith(self._prefix):
            return location
        return os.path.normpath(Path(self._folder).absolute() / location.removeprefix(self._prefix))

    def upload_at(self, location: str) -> Path | None:
        """The file, where it is an upload."""
        path = self.path_of(location)
        return Path(path) if self.location_of(path) != path else None


UNNAMED = "untitled"
BETWEEN = " - "  # the folders of a path and its file
LONGEST = 200  # bytes; file systems take 255
LONGEST_ENDING = 20  # bytes of .docx and the like
FORBIDDEN = frozenset('<>:"|?*')  # on Windows
RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)")  # there as well
AT_THE_ENDS = re.compile(r"^[\s.~]+|[\s.]+$")
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def kept_name(name: str) -> str:
    """Of a path that leads down from where one is, all parts, so that files of two folders stay apart; of any other the
    last part. In one spelling (NFC). What had to be changed beyond that gets a mark made of what it was, so that it
    takes no other's place. Names that differ in nothing else become one: "a/b.md" is "a - b.md"."""
    given = unicodedata.normalize("NFC", _without_halves(name)).removeprefix("./")
    parts = re.split(r"[/\\]", given)
    plain = BETWEEN.join(parts) if _leads_down(given, parts) else parts[-1]
    fit = _harmless(plain)
    return fit if fit == plain and len(fit.encode()) <= LONGEST else _marked(fit, plain)


def _leads_down(given: str, parts: list[str]) -> bool:
    return not re.match(r"[a-zA-Z]:", given) and not any(part in ("", "..") for part in parts)


def _without_halves(name: str) -> str:
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in name)


def _harmless(name: str) -> str:
    """Nothing hidden, nothing unseen, nothing that a file system keeps for itself. Without the unseen, the spelling may
    be another one."""
    seen = "".join(one for one in name if unicodedata.category(one) not in UNSEEN)
    plain = "".join("_" if one in FORBIDDEN else one for one in seen)
    plain = AT_THE_ENDS.sub("", unicodedata.normalize("NFC", plain))
    return f"_{plain}" if RESERVED.match(plain) else plain or UNNAMED


def _marked(name: str, original: str) -> str:
    mark = f"-{hashlib.blake2b(original.encode(), digest_size=4).hexdigest()}"
    stem, ending = _split(name)
    left = LONGEST - len((mark + ending).encode())
    return AT_THE_ENDS.sub("", stem.encode()[:left].decode(errors="ignore")) + mark + ending


def _split(name: str) -> tuple[str, str]:
    """What comes before the last dot, and the rest, unless that is too long to be an ending."""
    stem, dot, ending = name.rpartition(".")
    is_ending = bool(stem and ending) and len(ending.encode()) < LONGEST_ENDING
    return (stem, dot + ending) if is_ending else (name, "")
