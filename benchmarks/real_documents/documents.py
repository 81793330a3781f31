"""Extracts the documents of the benchmark from clones of public repositories, at the commits in its `sources.json`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def sources(collection: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The sources of each language. A path matches as in a shell, and `*` also matches slashes."""
    loaded: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads((HERE / collection / "sources.json").read_text())
    return loaded


def extract(clones: Path, collection: str, language: str, target: Path) -> int:
    """Writes the documents of a language to `target/NAME/PATH` and returns their number.

    `clones` contains a git directory per repository, as `OWNER+NAME` or `OWNER+NAME/repo`.
    """
    count = 0
    for source in sources(collection)[language]:
        repository = _find(clones, source["repository"])
        for path in _paths(repository, source):
            file = target / source["name"] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_git(repository, "show", f"{source['commit']}:{path}"))
            count += 1
    return count


def _find(clones: Path, name: str) -> Path:
    folder = clones / name.replace("/", "+")
    return folder / "repo" if (folder / "repo").exists() else folder


def _paths(repository: Path, source: Mapping[str, Any]) -> Iterator[str]:
    listed = _git(repository, "ls-tree", "-r", "-z", "--name-only", source["commit"]).decode()
    for path in listed.strip("\0").split("\0"):
        wanted = any(fnmatch(path, pattern) for pattern in source["paths"])
        if wanted and not any(fnmatch(path, pattern) for pattern in source["exclude"]):
            yield path


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout
