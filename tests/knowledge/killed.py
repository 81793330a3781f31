"""The processes that the kill tests kill: they ingest in a loop and log every reported outcome.

Imports `veracity.knowledge` inside the functions only, since LanceDB does not survive a fork.
"""

import os
import random
from pathlib import Path

COUNT = 150
WORDS = ["probe", "leave", "travel", "salary", "holiday", "manual", "pump", "valve", "osaka", "dublin"]


def name_of(number: int) -> str:
    return f"{number:03}.{('md', 'txt')[number % 2]}"


def token(number: int, generation: int) -> str:
    """A word that occurs in one generation of one file only. Without digits, which would split it."""
    return "zz" + "".join("bcdfghjk"[int(digit)] for digit in f"{number * 1000 + generation:o}")


def content(number: int, generation: int) -> str:
    sentences = [
        f"{token(number, generation)} says {' '.join(random.Random(number).choices(WORDS, k=8))}.",
        "上海办公室的员工每晚住宿不超过六百元。",
        "大阪の社員は年に二十日の有給休暇をもらえます。",
    ]
    return f"# File {number}\n\n" + "\n\n".join(sentences * (1 + number % 4) * 3)


def make_library(knowledge: Path, embedder: str = "hashed"):  # type: ignore[no-untyped-def]
    from tests.knowledge.material import HashEmbedder
    from veracity.knowledge.library import Library
    from veracity.settings import KnowledgeSettings, ReadingSettings

    settings = KnowledgeSettings(passage_tokens=64, overlap_tokens=10)
    return Library(knowledge, HashEmbedder(embedder), settings, ReadingSettings(workers=1))


def use_small_limits() -> None:
    """Small batches and frequent compaction, so that there is more to interrupt."""
    from veracity.knowledge import ingest, store

    ingest.MAX_BATCH_PASSAGES = 12
    store.MAX_UNINDEXED_ROWS, store.MAX_SMALL_FRAGMENTS = 64, 6
    store.MAX_SUPERSEDED_VERSIONS, store.KEEP_VERSIONS_SECONDS, store.CLOCK_TOLERANCE_SECONDS = 8, 0.5, 0.1


def write_files(files: Path, numbers: list[int], generation: int) -> None:
    """Writes each file atomically: a partial file would rightly be ingested as it is."""
    for number in numbers:
        draft = files / ".draft"
        draft.write_text(content(number, generation), encoding="utf-8")
        draft.replace(files / name_of(number))


def ingest_for_ever(knowledge: Path, files: Path, log: Path, first: int) -> None:
    """Logs a line before each file is written and after each outcome is reported."""
    use_small_limits()
    library = make_library(knowledge)
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(note, b"started\n")
    generation = first
    while True:
        library.ingest(
            [files],
            True,
            lambda outcome, _: (
                os.write(note, f"reported {Path(outcome.name).name} {outcome.status}\n".encode()) and None
            ),
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
    """Switches between two embedders."""
    use_small_limits()
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    libraries = [make_library(knowledge, "other"), make_library(knowledge, "hashed")]
    os.write(note, b"started\n")
    while True:
        for library in libraries:
            library.reindex(lambda outcome, _: os.write(note, b"reported\n") and None)
            os.write(note, b"done\n")
