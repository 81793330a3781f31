"""What the place of a document is called: that of a file by its whole path, that of an upload by its name alone.

So uploads stay the documents they are when their workspace is moved, or mounted elsewhere. Knows nothing about what
files hold.
"""

from __future__ import annotations

import os
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
