"""What the kill tests kill: a process that ingests, changes, ingests again, and notes down what it was told.

Imports the knowledge side only in the process that is to be killed: LanceDB does not survive a fork.
"""

import os
import random
from pathlib import Path

COUNT = 150
WORDS = ["probe", "leave", "travel", "salary", "holiday", "manual", "pump", "valve", "osaka", "dublin"]


def name_of(number: int) -> str:
    return f"{number:03}.{('md', 'txt')[number % 2]}"


def token(number: int, generation: int) -> str:
    """A word that stands in one generation of one file only. Without digits, at which words are cut."""
    return "zz" + "".join("bcdfghjk"[int(digit)] for digit in f"{number * 1000 + generation:o}")


def content(number: int, generation: int) -> str:
    sentences = [
        f"{token(number, generation)} says {' '.join(random.Random(number).choices(WORDS, k=8))}.",
        "上海办公室的员工每晚住宿不超过六百元。",
        "大阪の社員は年に二十日の有給休暇をもらえます。",
    ]
    return f"# File {number}\n\n" + "\n\n".join(sentences * (1 + number % 4) * 3)


def make_library(knowledge: Path, embedder: str = "hashed"):  # type: ignore[no-untyped-def]
    from tests.knowledge.material import Hashed
    from veracity.knowledge.library import Library
    from veracity.settings import KnowledgeSettings, ReadingSettings

    settings = KnowledgeSettings(passage_tokens=64, overlap_tokens=10)
    return Library(knowledge, Hashed(embedder), settings, ReadingSettings(workers=1))


def hasten() -> None:
    """Small batches and much upkeep, so that there is much to interrupt."""
    from veracity.knowledge import ingest, store

    ingest.PASSAGES = 12
    store.ROWS_WORTH_INDEXING, store.COMMITS_WORTH_MERGING = 64, 6
    store.VERSIONS_WORTH_REMOVING, store.KEPT, store.LEEWAY = 8, 0.5, 0.1


def write_files(files: Path, numbers: list[int], generation: int) -> None:
    """Each whole or not at all: half a file would be ingested as half a file, and rightly so."""
    for number in numbers:
        draft = files / ".draft"
        draft.write_text(content(number, generation), encoding="utf-8")
        draft.replace(files / name_of(number))


def ingest_for_ever(knowledge: Path, files: Path, log: Path, first: int) -> None:
    """The first generation is on the disk. A line is written before a file is, and after a document is told of."""
    hasten()
    library = make_library(knowledge)
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(note, b"started\n")
    generation = first
    while True:
        library.ingest(
            [files],
            True,
            lambda outcome, _: os.write(note, f"told {Path(outcome.name).name} {outcome.status}\n".encode()) and None,
        )
        os.write(note, b"reindexing\n")
        if generation % 3 == 2:
            library.reindex(lambda outcome, _: None)
        os.write(note, b"changing\n")
        generation += 1
        changed = random.Random(generation).sample(range(COUNT), COUNT // 3)
        for number in changed:
            os.write(note, f"wrote {name_of(number)} {generation}\n".encode())
            write_files(files, [number], generation)


def reindex_for_ever(knowledge: Path, log: Path) -> None:
    """From one embedder to the other and back."""
    hasten()
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    libraries = [make_library(knowledge, "other"), make_library(knowledge, "hashed")]
    os.write(note, b"started\n")
    while True:
        for library in libraries:
            library.reindex(lambda outcome, _: os.write(note, b"told\n") and None)
            os.write(note, b"done\n")
