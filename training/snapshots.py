"""Reads files from bare git repositories at a pinned commit: SNAPSHOTS/OWNER+NAME/repo."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

GROUP = 100


class File(NamedTuple):
    name: str
    blob: str
    size: int


class Snapshot:
    def __init__(self, snapshots: Path, repository: str, commit: str) -> None:
        self.folder = snapshots / repository.replace("/", "+") / "repo"
        self.commit = commit
        if not self.folder.is_dir():
            raise SystemExit(
                f"There is no snapshot of {repository}: clone it with `git clone --bare` to {self.folder}."
            )

    def files(self) -> list[File]:
        """All files of the commit, sorted by path."""
        listing = self._git("ls-tree", "-r", "-z", "-l", self.commit).decode("utf-8", "replace")
        found = []
        for line in filter(None, listing.split("\0")):
            details, _, name = line.partition("\t")
            _, _, blob, size = details.split()
            if size.isdigit():  # a submodule has "-"
                found.append(File(name, blob, int(size)))
        return found

    def read(self, files: Iterable[File]) -> Iterator[tuple[File, str]]:
        """Files and their texts, in order. Files without content in the snapshot are left out."""
        for file, content in self._read_bytes(files):
            yield file, content.decode("utf-8", "replace")

    def contents(self, files: Sequence[File]) -> Iterator[bytes]:
        """The same as bytes, for more files than fit in memory."""
        for start in range(0, len(files), GROUP):
            for _, content in self._read_bytes(files[start : start + GROUP]):
                yield content

    def _read_bytes(self, files: Iterable[File]) -> Iterator[tuple[File, bytes]]:
        wanted = list(files)
        answer = self._git("cat-file", "--batch", given="".join(f"{file.blob}\n" for file in wanted).encode())
        start = 0
        for file in wanted:
            end = answer.index(b"\n", start)
            header = answer[start:end].split()
            if len(header) < 3:  # "missing"
                start = end + 1
                continue
            size = int(header[2])
            yield file, answer[end + 1 : end + 1 + size]
            start = end + 2 + size

    def text(self, name: str) -> str | None:
        """The text of one file, or None where the commit has no such file."""
        command = ["git", "--git-dir", str(self.folder), "show", f"{self.commit}:{name}"]
        result = subprocess.run(command, capture_output=True, check=False)
        return None if result.returncode else result.stdout.decode("utf-8", "replace")

    def content(self, name: str) -> bytes:
        """The content of one file. Raises CalledProcessError where the commit has no such file."""
        return self._git("show", f"{self.commit}:{name}")

    def _git(self, *arguments: str, given: bytes | None = None) -> bytes:
        command = ["git", "--git-dir", str(self.folder), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout
