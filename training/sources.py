"""The list of training sources (sources.toml), and what it must hold to.

python -m training.sources                     # prints the attributions
python -m training.sources --check SNAPSHOTS   # compares commits and licence files with the snapshots
"""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from training.snapshots import Snapshot

FILE = Path(__file__).with_name("sources.toml")
LANGUAGES = ("en", "zh", "ja")
WORDNET = "- Princeton WordNet 3.0 (en): words and definitions; Princeton University; WordNet licence (permissive)."
# Licences under which weights may be published with an attribution, and a phrase that their text contains.
LICENCES = {
    "Apache-2.0": "Apache License",
    "CC-BY-4.0": r"Attribution 4\.0 International|licenses/by/4\.0|Creative Commons Attribution license",
    "CC0-1.0": "CC0 1.0 Universal",
    "MIT": "Permission is hereby granted, free of charge",
    "public-domain": "",
}


@dataclass(frozen=True)
class Folder:
    path: str
    language: str
    use: str  # "train" or "held"
    documents: int
    skip: tuple[str, ...] = ()
    nested: bool = True

    def contains(self, name: str) -> bool:
        inner = name.removeprefix(self.path)
        if not name.startswith(self.path) or any(part in inner for part in self.skip):
            return False
        return self.nested or "/" not in inner


@dataclass(frozen=True)
class Repository:
    name: str
    commit: str
    licence: str
    licence_file: str
    holder: str
    folders: tuple[Folder, ...]
    note: str = ""
    excluded: tuple[str, ...] = ()
    excluded_because: str = ""

    def excludes(self, name: str) -> bool:
        """Whether a file must not be used, because its licence differs from that of the repository."""
        return any(name.startswith(part) or f"/{part}" in name for part in self.excluded)


@dataclass(frozen=True)
class Translation:
    """`repository:folder` of the same files in each language."""

    en: str
    ja: str
    zh: str
    limit: int | None = None


@dataclass(frozen=True)
class PlainText:
    repository: str
    documents: int
    characters: int
    characters_per_document: int


@dataclass(frozen=True)
class Collection:
    """Words, names and short sentences (training.words), or articles (training.articles)."""

    name: str
    commit: str
    content: str
    licence: str
    holder: str
    languages: tuple[str, ...]

    def snapshot(self, snapshots: Path) -> Snapshot:
        return Snapshot(snapshots, self.name, self.commit)


@dataclass(frozen=True)
class Sources:
    repositories: tuple[Repository, ...]
    translations: tuple[Translation, ...]
    texts: tuple[PlainText, ...]
    collections: tuple[Collection, ...]

    def collection(self, name: str) -> Collection:
        return next(collection for collection in self.collections if collection.name == name)

    def repository(self, name: str) -> Repository:
        return next(repository for repository in self.repositories if repository.name == name)

    def excludes(self, document: str) -> bool:
        """Whether `repository:path` must not be used. A repository that is not listed must not be used either."""
        name, _, path = document.partition(":")
        if any(collection.name == name for collection in self.collections):
            return False
        found = [repository for repository in self.repositories if repository.name == name]
        return not found or found[0].excludes(path)


@lru_cache(maxsize=1)
def load_sources() -> Sources:
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Sources(
        tuple(_repository(row) for row in table["repository"]),
        tuple(Translation(**row) for row in table["translation"]),
        tuple(PlainText(**row) for row in table["text"]),
        tuple(Collection(**{**row, "languages": tuple(row["languages"])}) for row in table["collection"]),
    )


def _repository(row: dict[str, Any]) -> Repository:
    folders = tuple(Folder(**{**folder, "skip": tuple(folder.get("skip", ()))}) for folder in row["folders"])
    return Repository(**{**row, "folders": folders, "excluded": tuple(row.get("excluded", ()))})


def attributions(sources: Sources) -> str:
    """A Markdown list: who wrote the training text, where it is, and under which licence."""
    lines = []
    for repository in sources.repositories:
        if all(folder.use == "held" for folder in repository.folders):
            continue
        languages = ", ".join(dict.fromkeys(folder.language for folder in repository.folders))
        place = f"[{repository.name}](https://github.com/{repository.name}) at {repository.commit[:12]}"
        lines.append(f"- {place} ({languages}): {repository.holder}; {repository.licence}.")
    for collection in sources.collections:
        place = f"[{collection.name}](https://github.com/{collection.name}) at {collection.commit[:12]}"
        about = f"{collection.content}; {collection.holder}; {collection.licence}"
        lines.append(f"- {place} ({', '.join(collection.languages)}): {about}.")
    lines.append(WORDNET)
    return "\n".join(lines)


def check(sources: Sources, snapshots: Path) -> list[str]:
    """What does not hold, as sentences."""
    faults = []
    for repository in sources.repositories:
        snapshot = Snapshot(snapshots, repository.name, repository.commit)
        text = snapshot.text(repository.licence_file)
        if text is None:
            faults.append(f"{repository.name}: {repository.licence_file} is missing at {repository.commit}.")
        elif not re.search(LICENCES[repository.licence], text):
            faults.append(f"{repository.name}: {repository.licence_file} does not look like {repository.licence}.")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the attributions, or checks the sources.")
    parser.add_argument("--check", type=Path, metavar="SNAPSHOTS", help="folder of snapshots (OWNER+NAME/repo)")
    arguments = parser.parse_args()
    if arguments.check is None:
        print(attributions(load_sources()))
        return
    faults = check(load_sources(), arguments.check)
    print("\n".join(faults) or f"{len(load_sources().repositories)} repositories, all as listed.")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
